// From a diffusion volume to what is fitted to its voxels.
#pragma once
#include <functional>
#include <span>

#include "penstock/tracto.hpp"
#include "tracto/fit/csd.hpp"
#include "tracto/fit/fitter.hpp"
#include "tracto/fit/qball.hpp"
#include "tracto/fit/response.hpp"
#include "tracto/gradients/gradients.hpp"
#include "tracto/run/volume.hpp"

namespace penstock::tracto {

/// Errors: invalid_argument naming the option.
Status check_options(const TrackOptions& how);
/// The model that is tracked.
DwiModel model_of(const TrackOptions& how);

/// What fits, and to what.
struct DwiData {
  const Volume& volume;
  const Gradients& gradients;
};

/// Calls take(voxel, tensor) for every voxel in order; a tensor of zeros where there is no unweighted signal.
Status for_each_tensor(Job& job, Fitter& fitter, const DwiData& dwi, TensorMethod method,
                       const std::function<void(std::uint64_t, const Tensor3&)>& take);
/// FA of every voxel, (z, y, x); 0 where there is no unweighted signal.
Result<std::vector<float>> fit_fa(Job& job, Fitter& fitter, const DwiData& dwi, TensorMethod method);
Result<FibreResponse> fit_response(Job& job, Fitter& fitter, const DwiData& dwi, const TrackOptions& how);
/// The gradients of `dwi`: the files of `how`, or those beside it; in the axes of the voxels.
Result<Gradients> load_gradients(const std::string& dwi, const TrackOptions& how, const Volume& volume);

/// What is fitted, to which shell.
struct ModelPlan {
  DwiModel model = DwiModel::csd;
  Shell shell;
  std::uint32_t order = 8;
  ShBasis basis = ShBasis::descoteaux07_legacy;
  bool from_peaks = false;  ///< the volume holds peaks
  std::string reason;       ///< of shell and order, for the report
};
/// Errors: invalid_argument (no such shell, too few directions).
Result<ModelPlan> plan_model(const Gradients& gradients, const TrackOptions& how, DwiModel model);
std::vector<Direction> shell_directions(const Gradients& gradients, const ModelPlan& plan);
QballOptions qball_options(const TrackOptions& how, const ModelPlan& plan);

/// What the model fits with.  `response`: of csd.
Result<FitTables> model_tables(const Gradients& gradients, const ModelPlan& plan, const FibreResponse& response,
                               const TrackOptions& how);
/// Of a volume of coefficients, which are taken as they are.
FitTables coefficient_tables(std::uint64_t coefficients);

}  // namespace penstock::tracto
