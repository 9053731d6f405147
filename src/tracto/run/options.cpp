#include <fmt/format.h>

#include "tracto/field/peaks.hpp"
#include "tracto/run/prepare.hpp"

namespace penstock::tracto {
namespace {

Status in_range(std::string_view option, double value, double least, double most) {
  if (value >= least && value <= most) return {};
  return Error(ErrorCode::invalid_argument, fmt::format("{} {}: must be from {} to {}", option, value, least, most));
}

}  // namespace

DwiModel model_of(const TrackOptions& how) {
  return how.model.value_or(how.method == TrackMethod::boot ? DwiModel::opdt : DwiModel::csd);
}

Status check_options(const TrackOptions& how) {
  const std::uint32_t order = how.sh_order.value_or(8);
  if (order < 2 || order > 12 || order % 2 != 0)
    return Error(ErrorCode::invalid_argument, fmt::format("--sh-order {}: must be 2, 4, 6, 8, 10 or 12", order));
  if (model_of(how) == DwiModel::dti)
    return Error(ErrorCode::invalid_argument,
                 "--model dti: has no orientation distribution to track; csd, csa and opdt have");
  if (how.method == TrackMethod::boot && model_of(how) == DwiModel::csd)
    return Error(ErrorCode::invalid_argument, "--model csd: the bootstrap fits opdt or csa at each point");
  PENSTOCK_TRY(in_range("--b0-threshold", how.b0_threshold, 0, 1e6));
  if (how.response) {
    const auto [along, across, s0] = *how.response;
    if (!(across >= 0 && along > across && along < 1 && s0 > 0 && s0 < 1e30))
      return Error(
          ErrorCode::invalid_argument,
          fmt::format("--response {},{},{}: must be diffusivities in mm2/s, the first the larger, and a signal "
                      "above 0",
                      along, across, s0));
  }
  PENSTOCK_TRY(in_range("--response-fa", how.response_fa, 0, 1));
  PENSTOCK_TRY(in_range("--response-radius", how.response_radius, 1, 32767));
  PENSTOCK_TRY(in_range("--sphere", how.sphere, 16, kMaxDirections));
  PENSTOCK_TRY(in_range("--peaks", how.max_peaks, 1, kMaxPeaks));
  PENSTOCK_TRY(in_range("--relative-peak", how.relative_peak, 0, 1));
  PENSTOCK_TRY(in_range("--separation-deg", how.separation_deg, 0, 90));
  PENSTOCK_TRY(in_range("--stop-below", how.stop_below, 0, 1e6));
  PENSTOCK_TRY(in_range("--step-mm", how.step_mm.value_or(1), 1e-3, 1e3));
  PENSTOCK_TRY(in_range("--max-angle-deg", how.max_angle_deg, 0, 90));
  PENSTOCK_TRY(in_range("--pmf-threshold", how.pmf_threshold, 0, 1));
  PENSTOCK_TRY(in_range("--smooth", how.smooth, 0, 1e3));
  PENSTOCK_TRY(in_range("--min-signal", how.min_signal, 1e-6, 1e6));
  PENSTOCK_TRY(in_range("--substeps", how.substeps, 1, 1000));
  PENSTOCK_TRY(in_range("--min-radius-mm", how.min_radius_mm.value_or(1), 1e-3, 1e6));
  PENSTOCK_TRY(in_range("--probe-length-mm", how.probe_length_mm.value_or(1), 1e-3, 1e3));
  PENSTOCK_TRY(in_range("--probe-quality", how.probe_quality, 2, 64));
  PENSTOCK_TRY(in_range("--probe-count", how.probe_count, 1, 64));
  PENSTOCK_TRY(in_range("--probe-radius-mm", how.probe_radius_mm.value_or(1), 0, 1e3));
  PENSTOCK_TRY(in_range("--min-length-mm", how.min_length_mm, 0, 1e5));
  PENSTOCK_TRY(in_range("--max-length-mm", how.max_length_mm, how.min_length_mm, 1e5));
  PENSTOCK_TRY(in_range("--seeds", static_cast<double>(how.seeds), 0, 1e12));
  PENSTOCK_TRY(in_range("--first-seed", static_cast<double>(how.first_seed), 0, 1e12));
  PENSTOCK_TRY(in_range("--seeds-per-voxel", how.seeds_per_voxel, 1, 1e6));
  PENSTOCK_TRY(in_range("--seed-grid", how.seed_grid, 0, 100));
  PENSTOCK_TRY(in_range("--step-voxels", how.step_voxels.value_or(1), 1e-3, 1e3));
  if (how.step_mm && how.step_voxels)
    return Error(ErrorCode::invalid_argument, "--step-mm, --step-voxels: say the same twice");
  if ((how.seeds > 0) + (how.seed_grid > 0) + !how.seeds_file.empty() > 1)
    return Error(ErrorCode::invalid_argument, "--seeds, --seed-grid, --seeds-file: only one of them can be");
  if (!how.seeds_file.empty() && !how.seed_image.empty())
    return Error(ErrorCode::invalid_argument, "--seeds-file, --seed-image: only one of them can be");
  return in_range("--chunk-seeds", static_cast<double>(how.chunk_seeds), 1, 1e7);
}

}  // namespace penstock::tracto
