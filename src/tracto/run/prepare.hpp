// From a diffusion volume to what is fitted to its voxels.
#pragma once
#include <functional>
#include <span>

#include "penstock/tracto.hpp"
#include "tracto/fit/csd.hpp"
#include "tracto/fit/qball.hpp"
#include "tracto/fit/response.hpp"
#include "tracto/gradients/gradients.hpp"
#include "tracto/run/volume.hpp"

namespace penstock::tracto {

/// Errors: invalid_argument naming the option.
Status check_options(const TrackOptions& how);
/// The model that is tracked.
DwiModel model_of(const TrackOptions& how);

/// FA of every voxel, (z, y, x); 0 where there is no unweighted signal.
Result<std::vector<float>> fit_fa(Job& job, const Volume& volume, const Gradients& gradients, TensorMethod method);
Result<FibreResponse> fit_response(const Volume& volume, const Gradients& gradients, const TrackOptions& how);

/// Mean of a voxel's unweighted volumes, each at least `least`.
float mean_unweighted(const Volume& volume, const Gradients& gradients, std::uint64_t voxel, double least = -1e300);
/// The gradients of `dwi`: the files of `how`, or those beside it; in the axes of the voxels.
Result<Gradients> load_gradients(const std::string& dwi, const TrackOptions& how, const Volume& volume);

/// What is fitted, to which shell.
struct ModelPlan {
  DwiModel model = DwiModel::csd;
  Shell shell;
  std::uint32_t order = 8;
  ShBasis basis = ShBasis::descoteaux07_legacy;
  std::string reason;  ///< of shell and order, for the report
};
/// Errors: invalid_argument (no such shell, too few directions).
Result<ModelPlan> plan_model(const Gradients& gradients, const TrackOptions& how, DwiModel model);
std::vector<Direction> shell_directions(const Gradients& gradients, const ModelPlan& plan);
QballOptions qball_options(const TrackOptions& how, const ModelPlan& plan);

/// The shell's signals of a voxel and the mean unweighted one -> coefficients.  Called from many threads.
using VoxelFit = std::function<Eigen::VectorXd(const Eigen::VectorXd&, double)>;
/// `response`: of csd.
Result<VoxelFit> make_voxel_fit(const Gradients& gradients, const ModelPlan& plan, const FibreResponse& response,
                                const TrackOptions& how);
/// Calls take(i, coefficients) for the `i`th voxel of `voxels`, from many threads.
Status for_each_fit(Job& job, const Volume& volume, const Gradients& gradients, const ModelPlan& plan,
                    const VoxelFit& fit, double min_signal, std::span<const std::uint32_t> voxels,
                    const std::function<void(std::uint64_t, const Eigen::VectorXd&)>& take);

}  // namespace penstock::tracto
