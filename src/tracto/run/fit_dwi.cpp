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

/// What is fitted to the voxels of a model, by voxel.
struct HarmonicMaps {
  std::vector<std::uint32_t> voxels;
  std::uint64_t coefficients = 0;
  std::vector<float> sh;  ///< (voxels, coefficients)
  HostField field;        ///< its directions and amplitudes
};

Status fit_harmonics(Job& job, Fitter& fitter, const Volume& v, const ModelPlan& plan, FitTables tables,
                     const TrackOptions& how, HarmonicMaps& maps) {
  TrackOptions peaks = how;
  peaks.max_peaks = kMapPeaks;
  PENSTOCK_TRY(describe_directions(peaks, maps.field));
  PENSTOCK_ASSIGN(const Sphere sphere, repulsion_sphere(how.sphere));
  const Eigen::MatrixXd sampling = sh_matrix(sphere.vertices, plan.order);
  tables.sampling.assign(sampling.data(), sampling.data() + sampling.size());
  tables.params.directions = maps.field.params.directions;
  tables.params.stride = maps.field.params.stride;
  maps.coefficients = sh_count(plan.order);
  maps.sh.resize(maps.voxels.size() * maps.coefficients);
  maps.field.pmf.resize(maps.voxels.size() * maps.field.params.stride);
  maps.field.scale.resize(maps.voxels.size());
  FitWork work;
  work.signals = v.data;
  work.voxels = maps.voxels;
  work.sh = maps.sh.data();
  work.pmf = maps.field.pmf.data();
  work.scale = maps.field.scale.data();
  return fitter.run(job, tables, work);
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
  HarmonicMaps maps;
  for (std::uint64_t i = 0; i < v.voxels(); ++i)
    if (fa[i] > static_cast<float>(how.stop_below)) maps.voxels.push_back(static_cast<std::uint32_t>(i));
  Lap lap;
  PENSTOCK_TRY(fit_harmonics(job, fitter, v, plan, std::move(tables), how, maps));
  summary.fit_seconds = lap.seconds();
  const std::uint64_t n = v.voxels(), coefficients = maps.coefficients;
  std::vector<float> sh(n * coefficients);
  for (std::size_t r = 0; r < maps.voxels.size(); ++r)
    for (std::uint64_t c = 0; c < coefficients; ++c) sh[c * n + maps.voxels[r]] = maps.sh[r * coefficients + c];
  PENSTOCK_ASSIGN(const std::vector<float> peaks, peak_map(job, maps.field, maps.voxels, n));
  PENSTOCK_TRY(write_map(store, "peaks", v.dims, 3 * std::uint64_t{kMapPeaks}, v.world_from_voxel, peaks));
  PENSTOCK_TRY(write_map(store, "fa", v.dims, 1, v.world_from_voxel, fa));
  PENSTOCK_TRY(write_map(store, "sh", v.dims, coefficients, v.world_from_voxel, sh));
  if (model == DwiModel::csd) {
    Json json = Json::object();
    json["evals"] = response.evals;
    json["s0"] = response.s0;
    json["voxels"] = response.voxels;
    const std::string text = dump_json(json, 2) + "\n";
    PENSTOCK_TRY(store.set("response.json", as_bytes(text)));
    std::copy(response.evals.begin(), response.evals.end(), summary.response_evals);
    summary.response_s0 = response.s0;
    summary.response_voxels = response.voxels;
  }
  summary.fitted_voxels = maps.voxels.size();
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
