#include "tracto/run/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "tracto/sh/basis.hpp"

namespace penstock::tracto {
namespace {

/// Makes of the fractional anisotropy, if there is one, the map that tracking stops by.
Status apply_maps(const Volume& volume, const TrackOptions& how, const Options& options, std::vector<float>& stop) {
  if (!how.stop.empty()) {
    PENSTOCK_ASSIGN(stop, load_map(how.stop, volume, options));
  }
  if (how.mask.empty()) return {};
  PENSTOCK_ASSIGN(const std::vector<float> mask, load_map(how.mask, volume, options));
  if (std::none_of(mask.begin(), mask.end(), [](float value) { return value > 0; }))
    return Error(ErrorCode::invalid_argument, how.mask + ": the mask is empty");
  for (std::size_t i = 0; i < stop.size(); ++i)
    if (!(mask[i] > 0)) stop[i] = 0;
  return {};
}

std::string size_text(const Volume& v, const char* what) {
  return fmt::format("{} x {} x {} voxels, {} {}", v.dims[0], v.dims[1], v.dims[2], v.volumes, what);
}

Result<Source> from_signals(Job& job, Fitter& fitter, const std::string& dwi, const TrackOptions& how,
                            const Options& options, Stages& stages, TrackSummary& summary) {
  Source s;
  PENSTOCK_ASSIGN(s.volume, load_volume(dwi, options));
  stages.add("read", s.volume.path_taken, size_text(s.volume, "volumes"), s.volume.data.size() * 4);
  PENSTOCK_ASSIGN(s.gradients, load_gradients(dwi, how, s.volume));
  stages.restart();
  PENSTOCK_ASSIGN(s.stop, fit_fa(job, fitter, {s.volume, s.gradients}, how.fit));
  stages.add("tensor", fitter.name(),
             fmt::format("{} over {} volumes", tensor_method_name(how.fit), s.gradients.size()), s.stop.size() * 4);
  FibreResponse response;
  if (model_of(how) == DwiModel::csd) {
    PENSTOCK_ASSIGN(response, fit_response(job, fitter, {s.volume, s.gradients}, how));
    std::copy(response.evals.begin(), response.evals.end(), summary.response_evals);
    summary.response_s0 = response.s0;
    summary.response_voxels = response.voxels;
    stages.add("response", fitter.name(),
               how.response
                   ? std::string("--response")
                   : fmt::format("{} voxels about the centre with FA above {}", response.voxels, how.response_fa),
               0);
  }
  PENSTOCK_ASSIGN(s.plan, plan_model(s.gradients, how, model_of(how)));
  if (how.method != TrackMethod::boot) {
    PENSTOCK_ASSIGN(s.tables, model_tables(s.gradients, s.plan, response, how));
  }
  PENSTOCK_TRY(apply_maps(s.volume, how, options, s.stop));
  return s;
}

/// The order of a set of coefficients.  Errors: invalid_metadata.
Result<std::uint32_t> order_of(std::uint64_t coefficients) {
  for (std::uint32_t order = 2; order <= 12; order += 2)
    if (sh_count(order) == coefficients) return order;
  return Error(ErrorCode::invalid_metadata,
               fmt::format("{} coefficients: must be 6, 15, 28, 45, 66 or 91, of an order from 2 to 12", coefficients));
}

/// `what`: of the volume, for the report.  `fa`: a map beside it; empty: how.stop or how.mask is needed.
Status load_fitted(const std::string& path, const std::string& fa, const char* what, const TrackOptions& how,
                   const Options& options, Stages& stages, Source& s) {
  if (how.method == TrackMethod::boot)
    return Error(ErrorCode::invalid_argument, fmt::format("{}: the bootstrap needs signals, not {}", path, what));
  PENSTOCK_ASSIGN(s.volume, load_volume(path, options));
  if (!fa.empty()) {
    PENSTOCK_ASSIGN(s.stop, load_map(fa, s.volume, options));
  } else {
    if (how.stop.empty() && how.mask.empty())
      return Error(ErrorCode::invalid_argument, path + ": where its streamlines end must be said")
          .set_hint("--stop IMAGE or --mask IMAGE says it.");
    s.stop.assign(s.volume.voxels(), std::max(1.0F, 2 * static_cast<float>(how.stop_below)));
  }
  stages.add("read", s.volume.path_taken, size_text(s.volume, what), s.volume.data.size() * 4);
  return apply_maps(s.volume, how, options, s.stop);
}

Result<Source> from_coefficients(const std::string& path, const std::string& fa, const TrackOptions& how,
                                 const Options& options, Stages& stages) {
  Source s;
  PENSTOCK_TRY(load_fitted(path, fa, "coefficients", how, options, stages, s));
  PENSTOCK_ASSIGN_IN(s.plan.order, order_of(s.volume.volumes), path);
  s.plan.basis = how.sh_basis.value_or(ShBasis::descoteaux07_legacy);
  s.plan.reason = "coefficients of " + std::string(sh_basis_name(s.plan.basis));
  s.tables = coefficient_tables(s.volume.volumes);
  return s;
}

Result<Source> from_peaks(const std::string& path, const std::string& fa, const TrackOptions& how,
                          const Options& options, Stages& stages) {
  Source s;
  PENSTOCK_TRY(load_fitted(path, fa, "numbers of peaks", how, options, stages, s));
  if (s.volume.volumes % 3 != 0)
    return Error(ErrorCode::invalid_metadata,
                 fmt::format("{}: {} volumes; peaks have three each", path, s.volume.volumes));
  s.plan.from_peaks = true;
  s.plan.model = DwiModel::dti;
  s.plan.order = 0;
  s.plan.reason = fmt::format("{} peaks of a voxel, to the nearest direction", s.volume.volumes / 3);
  return s;
}

}  // namespace

Result<Source> load_source(Job& job, Fitter& fitter, const std::string& dwi, const TrackOptions& how,
                           const Options& options, Stages& stages, TrackSummary& summary) {
  if (how.sh_basis) return from_coefficients(dwi, "", how, options, stages);
  const std::filesystem::path folder(dwi);
  const auto in_folder = [&](const char* name) { return (folder / name).string(); };
  std::error_code code;
  if (std::filesystem::exists(folder / "fa.nii.gz", code)) {
    if (std::filesystem::exists(folder / "sh.nii.gz", code))
      return from_coefficients(in_folder("sh.nii.gz"), in_folder("fa.nii.gz"), how, options, stages);
    if (std::filesystem::exists(folder / "peaks.nii.gz", code))
      return from_peaks(in_folder("peaks.nii.gz"), in_folder("fa.nii.gz"), how, options, stages);
  }
  return from_signals(job, fitter, dwi, how, options, stages, summary);
}

}  // namespace penstock::tracto
