// From a diffusion volume to the field that is tracked.
#pragma once
#include <functional>
#include <span>

#include "penstock/tracto.hpp"
#include "tracto/fit/csd.hpp"
#include "tracto/fit/response.hpp"
#include "tracto/gradients/gradients.hpp"
#include "tracto/run/chunk.hpp"
#include "tracto/run/volume.hpp"

namespace penstock::tracto {

/// Errors: invalid_argument naming the option.
Status check_options(const TrackOptions& how);
/// FA of every voxel, (z, y, x); 0 where there is no unweighted signal.
Result<std::vector<float>> fit_fa(Job& job, const Volume& volume, const Gradients& gradients);
Result<FibreResponse> fit_response(const Volume& volume, const Gradients& gradients, const TrackOptions& how);

/// Mean of a voxel's unweighted volumes.
float mean_unweighted(const Volume& volume, const Gradients& gradients, std::uint64_t voxel);
/// The gradients of `dwi`: the files of `how`, or those beside it.
Result<Gradients> load_gradients(const std::string& dwi, const TrackOptions& how, std::uint64_t volumes);

/// What is deconvolved.
struct CsdPlan {
  Shell shell;
  std::uint32_t order = 8;
  std::string reason;  ///< of both, for the report
};
/// Errors: invalid_argument (no such shell, too few directions).
Result<CsdPlan> plan_csd(const Gradients& gradients, const TrackOptions& how);
Result<CsdFit> make_csd(const Gradients& gradients, const CsdPlan& plan, const FibreResponse& response);
/// Calls take(i, coefficients) for the `i`th voxel of `voxels`, from many threads.
Status for_each_csd(Job& job, const Volume& volume, const CsdPlan& plan, const CsdFit& csd,
                    std::span<const std::uint32_t> voxels,
                    const std::function<void(std::uint64_t, const Eigen::VectorXd&)>& take);
/// Fits the voxels whose FA is above how.stop_below and fills the rows of `field`, whose `stop` becomes the FA.
/// The number of voxels that were fitted.  Errors: invalid_argument (there is none), out_of_memory, cancelled.
Result<std::uint64_t> fit_field(Job& job, const Volume& volume, const Gradients& gradients, const CsdPlan& plan,
                                const FibreResponse& response, const TrackOptions& how, std::vector<float> fa,
                                HostField& field);

}  // namespace penstock::tracto
