#include <fmt/format.h>

#include <chrono>

#include "core/checked.hpp"
#include "core/guard.hpp"
#include "core/json.hpp"
#include "exec/budget.hpp"
#include "penstock/store.hpp"
#include "penstock/tracto.hpp"
#include "tracto/file/nifti_map.hpp"
#include "tracto/run/prepare.hpp"
#include "tracto/sh/basis.hpp"

namespace penstock {
namespace {

using namespace tracto;

constexpr std::uint64_t kBlockVoxels = 64;

/// Maps of the tensor, component by component.
struct TensorMaps {
  std::vector<float> fa, md, evals, evecs;
};

Result<TensorMaps> tensor_maps(Job& job, const Volume& v, const Gradients& g, TensorMethod method) {
  const std::uint64_t n = v.voxels();
  TensorMaps maps{std::vector<float>(n), std::vector<float>(n), std::vector<float>(3 * n), std::vector<float>(9 * n)};
  const TensorFit fit(g, method);
  PENSTOCK_TRY(job.run([&] {
    return job.for_each(div_up(n, kBlockVoxels), true, [&](std::uint64_t block) -> Status {
      for (std::uint64_t i = block * kBlockVoxels; i < std::min(n, (block + 1) * kBlockVoxels); ++i) {
        if (!(mean_unweighted(v, g, i) > 0)) continue;
        const Tensor3 t = fit.fit(std::span(v.data).subspan(i * v.volumes, v.volumes));
        maps.fa[i] = static_cast<float>(t.fa());
        maps.md[i] = static_cast<float>(t.md());
        for (std::size_t e = 0; e < 3; ++e) {
          maps.evals[e * n + i] = static_cast<float>(t.evals[e]);
          for (std::size_t d = 0; d < 3; ++d) maps.evecs[(3 * e + d) * n + i] = static_cast<float>(t.evecs[e][d]);
        }
      }
      return {};
    });
  }));
  return maps;
}

Status write_sh(Job& job, Store& store, const Volume& v, const Gradients& g, DwiModel model, const TrackOptions& how,
                TrackSummary& summary) {
  PENSTOCK_ASSIGN(const std::vector<float> fa, fit_fa(job, v, g, how.fit));
  FibreResponse response;
  if (model == DwiModel::csd) {
    PENSTOCK_ASSIGN(response, fit_response(v, g, how));
  }
  PENSTOCK_ASSIGN(const ModelPlan plan, plan_model(g, how, model));
  PENSTOCK_ASSIGN(const VoxelFit fit, make_voxel_fit(g, plan, response, how));
  std::vector<std::uint32_t> voxels;
  for (std::uint64_t i = 0; i < v.voxels(); ++i)
    if (fa[i] > static_cast<float>(how.stop_below)) voxels.push_back(static_cast<std::uint32_t>(i));
  const std::uint64_t n = v.voxels(), coefficients = sh_count(plan.order);
  std::vector<float> sh(n * coefficients);
  PENSTOCK_TRY(
      for_each_fit(job, v, g, plan, fit, how.min_signal, voxels, [&](std::uint64_t r, const Eigen::VectorXd& f) {
        for (std::uint64_t c = 0; c < coefficients; ++c)
          sh[c * n + voxels[r]] = static_cast<float>(f[static_cast<Eigen::Index>(c)]);
      }));
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
  summary.fitted_voxels = voxels.size();
  summary.report.note = fmt::format("{}; order {}", plan.reason, plan.order);
  return {};
}

Result<TrackSummary> run(const std::string& dwi, const std::string& out, DwiModel model, const TrackOptions& how,
                         const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  PENSTOCK_TRY(check_options(how));
  PENSTOCK_ASSIGN(const BudgetPlan plan, plan_budget(options, 0));
  Options quiet = options;
  quiet.progress = nullptr;
  PENSTOCK_ASSIGN(const Volume volume, load_volume(dwi, quiet));
  PENSTOCK_ASSIGN(const Gradients gradients, load_gradients(dwi, how, volume));
  PENSTOCK_ASSIGN(const std::shared_ptr<Store> store, open_store(out, StoreMode::create));
  if (!how.force)
    for (const char* name : {"fa.nii.gz", "sh.nii.gz"}) {
      PENSTOCK_ASSIGN(const bool there, store->exists(name));
      if (there)
        return Error(ErrorCode::already_exists, fmt::format("{}: has a {} already", out, name))
            .set_hint("--force replaces the maps.");
    }
  Job job(quiet, "fit", 0, plan.threads);
  TrackSummary summary;
  summary.voxels = volume.voxels();
  if (model != DwiModel::dti) {
    PENSTOCK_TRY(write_sh(job, *store, volume, gradients, model, how, summary));
  } else {
    PENSTOCK_ASSIGN(const TensorMaps maps, tensor_maps(job, volume, gradients, how.fit));
    summary.fitted_voxels = volume.voxels();
    PENSTOCK_TRY(write_map(*store, "fa", volume.dims, 1, volume.world_from_voxel, maps.fa));
    PENSTOCK_TRY(write_map(*store, "md", volume.dims, 1, volume.world_from_voxel, maps.md));
    PENSTOCK_TRY(write_map(*store, "evals", volume.dims, 3, volume.world_from_voxel, maps.evals));
    PENSTOCK_TRY(write_map(*store, "evecs", volume.dims, 9, volume.world_from_voxel, maps.evecs));
  }
  summary.report.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return summary;
}

}  // namespace

Result<TrackSummary> fit_dwi(const std::string& dwi, const std::string& out, DwiModel model, const TrackOptions& how,
                             const Options& options) {
  return guarded([&] { return run(dwi, out, model, how, options); });
}

}  // namespace penstock
