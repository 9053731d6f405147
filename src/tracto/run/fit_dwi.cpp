#include <fmt/format.h>

#include <chrono>

#include "core/guard.hpp"
#include "core/json.hpp"
#include "exec/budget.hpp"
#include "penstock/store.hpp"
#include "penstock/tracto.hpp"
#include "tracto/file/nifti_map.hpp"
#include "tracto/run/peak_maps.hpp"
#include "tracto/run/stages.hpp"
#include "tracto/sh/basis.hpp"

namespace penstock {
namespace {

using namespace tracto;

/// Maps of the tensor, component by component.
struct TensorMaps {
  std::vector<float> fa, md, evals, evecs;
  std::vector<float> peaks;  ///< the first eigenvector, as long as fa
};

Result<TensorMaps> tensor_maps(Job& job, Fitter& fitter, const DwiData& dwi, TensorMethod method) {
  const std::uint64_t n = dwi.volume.voxels();
  TensorMaps maps{std::vector<float>(n), std::vector<float>(n), std::vector<float>(3 * n), std::vector<float>(9 * n),
                  std::vector<float>(3 * n)};
  PENSTOCK_TRY(for_each_tensor(job, fitter, dwi, method, [&](std::uint64_t i, const Tensor3& t) {
    maps.fa[i] = static_cast<float>(t.fa());
    maps.md[i] = static_cast<float>(t.md());
    for (std::size_t d = 0; d < 3; ++d) maps.peaks[d * n + i] = static_cast<float>(t.evecs[0][d] * t.fa());
    for (std::size_t e = 0; e < 3; ++e) {
      maps.evals[e * n + i] = static_cast<float>(t.evals[e]);
      for (std::size_t d = 0; d < 3; ++d) maps.evecs[(3 * e + d) * n + i] = static_cast<float>(t.evecs[e][d]);
    }
  }));
  return maps;
}

constexpr std::uint64_t kBlockVoxels = std::uint64_t{1} << 17;  // whose amplitudes are in memory at a time

/// Maps of a model's coefficients, component by component.
struct HarmonicMaps {
  std::uint64_t coefficients = 0;
  std::vector<float> sh, peaks;
  double fit_seconds = 0;
};

/// What is fitted to some voxels, a row for each, into the maps of `all`.
Status put_coefficients(Job& job, std::span<const float> rows, std::span<const std::uint32_t> voxels, std::uint64_t all,
                        HarmonicMaps& maps) {
  return job.run([&] {
    return job.for_each(maps.coefficients, true, [&](std::uint64_t c) -> Status {
      for (std::size_t r = 0; r < voxels.size(); ++r) maps.sh[c * all + voxels[r]] = rows[r * maps.coefficients + c];
      return {};
    });
  });
}

Result<HarmonicMaps> fit_harmonics(Job& job, Fitter& fitter, const Volume& v, const ModelPlan& plan, FitTables tables,
                                   const TrackOptions& how, std::span<const std::uint32_t> voxels) {
  HarmonicMaps maps;
  Lap lap;
  PENSTOCK_ASSIGN(const Sphere sphere, repulsion_sphere(how.sphere, &job));
  HostField field;
  describe_directions(how, sphere, field);
  field.params.max_peaks = kMapPeaks;
  const Eigen::MatrixXd sampling = sh_matrix(sphere.vertices, plan.order);
  tables.sampling.assign(sampling.data(), sampling.data() + sampling.size());
  tables.params.directions = field.params.directions;
  tables.params.stride = field.params.stride;
  maps.coefficients = sh_count(plan.order);
  maps.fit_seconds = lap.seconds();
  maps.sh.resize(v.voxels() * maps.coefficients);
  maps.peaks.resize(v.voxels() * 3 * kMapPeaks);
  const std::uint64_t most = std::min<std::uint64_t>(kBlockVoxels, voxels.size());
  std::vector<float> sh(most * maps.coefficients);
  field.pmf.resize(most * field.params.stride);
  field.scale.resize(most);
  FitWork work;
  work.signals = v.data;
  work.sh = sh.data();
  work.pmf = field.pmf.data();
  work.scale = field.scale.data();
  for (std::uint64_t at = 0; at < voxels.size(); at += kBlockVoxels) {
    work.voxels = voxels.subspan(at, std::min(kBlockVoxels, voxels.size() - at));
    lap.seconds();
    PENSTOCK_TRY(fitter.run(job, tables, work));
    maps.fit_seconds += lap.seconds();
    PENSTOCK_TRY(put_coefficients(job, sh, work.voxels, v.voxels(), maps));
    PENSTOCK_TRY(put_peaks(job, field, work.voxels, v.voxels(), maps.peaks));
  }
  return maps;
}

Status write_response(Store& store, const FibreResponse& response) {
  Json json = Json::object();
  json["evals"] = response.evals;
  json["s0"] = response.s0;
  json["voxels"] = response.voxels;
  const std::string text = dump_json(json, 2) + "\n";
  return store.set("response.json", as_bytes(text));
}

Status write_sh(Job& job, Fitter& fitter, Store& store, const DwiData& dwi, DwiModel model, const TrackOptions& how,
                TrackSummary& summary) {
  const Volume& v = dwi.volume;
  PENSTOCK_ASSIGN(const std::vector<float> fa, fit_fa(job, fitter, dwi, how.fit));
  FibreResponse response;
  if (model == DwiModel::csd) {
    PENSTOCK_ASSIGN(response, fit_response(job, fitter, dwi, how));
  }
  PENSTOCK_ASSIGN(const ModelPlan plan, plan_model(dwi.gradients, how, model));
  PENSTOCK_ASSIGN(FitTables tables, model_tables(dwi.gradients, plan, response, how));
  std::vector<std::uint32_t> voxels;
  for (std::uint64_t i = 0; i < v.voxels(); ++i)
    if (fa[i] > static_cast<float>(how.stop_below)) voxels.push_back(static_cast<std::uint32_t>(i));
  PENSTOCK_ASSIGN(const HarmonicMaps maps, fit_harmonics(job, fitter, v, plan, std::move(tables), how, voxels));
  PENSTOCK_TRY(write_map(store, "peaks", v.dims, 3 * std::uint64_t{kMapPeaks}, v.world_from_voxel, maps.peaks));
  PENSTOCK_TRY(write_map(store, "fa", v.dims, 1, v.world_from_voxel, fa));
  PENSTOCK_TRY(write_map(store, "sh", v.dims, maps.coefficients, v.world_from_voxel, maps.sh));
  if (model == DwiModel::csd) {
    PENSTOCK_TRY(write_response(store, response));
    std::copy(response.evals.begin(), response.evals.end(), summary.response_evals);
    summary.response_s0 = response.s0;
    summary.response_voxels = response.voxels;
  }
  summary.fit_seconds = maps.fit_seconds;
  summary.fitted_voxels = voxels.size();
  summary.report.note = fmt::format("{}; order {}", plan.reason, plan.order);
  return {};
}

Result<TrackSummary> run(const std::string& dwi, const std::string& out, DwiModel model, const TrackOptions& how,
                         const std::vector<Device>& devices, const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  PENSTOCK_TRY(check_options(how));
  PENSTOCK_ASSIGN(const BudgetPlan plan, plan_budget(options, 0));
  Options quiet = options;
  quiet.progress = nullptr;
  PENSTOCK_ASSIGN(const Volume volume, load_volume(dwi, quiet));
  PENSTOCK_ASSIGN(const Gradients gradients, load_gradients(dwi, how, volume));
  PENSTOCK_ASSIGN(const std::shared_ptr<Store> store, open_store(out, StoreMode::create));
  if (!how.force)
    for (const char* name : {"fa.nii.gz", "sh.nii.gz", "peaks.nii.gz"}) {
      PENSTOCK_ASSIGN(const bool there, store->exists(name));
      if (there)
        return Error(ErrorCode::already_exists, fmt::format("{}: has a {} already", out, name))
            .set_hint("--force replaces the maps.");
    }
  Job job(quiet, "fit", 0, plan.threads);
  PENSTOCK_ASSIGN(const std::unique_ptr<Fitter> fitter, make_fitter(devices, plan.threads));
  const DwiData data = {volume, gradients};
  TrackSummary summary;
  summary.voxels = volume.voxels();
  if (model != DwiModel::dti) {
    PENSTOCK_TRY(write_sh(job, *fitter, *store, data, model, how, summary));
  } else {
    Lap lap;
    PENSTOCK_ASSIGN(const TensorMaps maps, tensor_maps(job, *fitter, data, how.fit));
    summary.fit_seconds = lap.seconds();
    summary.fitted_voxels = volume.voxels();
    PENSTOCK_TRY(write_map(*store, "fa", volume.dims, 1, volume.world_from_voxel, maps.fa));
    PENSTOCK_TRY(write_map(*store, "md", volume.dims, 1, volume.world_from_voxel, maps.md));
    PENSTOCK_TRY(write_map(*store, "evals", volume.dims, 3, volume.world_from_voxel, maps.evals));
    PENSTOCK_TRY(write_map(*store, "evecs", volume.dims, 9, volume.world_from_voxel, maps.evecs));
    PENSTOCK_TRY(write_map(*store, "peaks", volume.dims, 3, volume.world_from_voxel, maps.peaks));
  }
  summary.report.peak_device_bytes = fitter->peak_device_bytes();
  summary.report.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return summary;
}

}  // namespace

Result<TrackSummary> fit_dwi(const std::string& dwi, const std::string& out, DwiModel model, const TrackOptions& how,
                             const std::vector<Device>& devices, const Options& options) {
  return guarded([&] { return run(dwi, out, model, how, devices, options); });
}

}  // namespace penstock
