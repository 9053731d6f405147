#include "tracto/run/prepare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tracto/sh/basis.hpp"

namespace penstock::tracto {
namespace {

constexpr std::uint64_t kTensorVoxels = std::uint64_t{1} << 16;  // whose tensors are in memory at a time
constexpr std::uint32_t kConstraintParts = 6;                    // 181 directions

/// The tensors of some voxels.
Result<std::vector<double>> tensors_of(Job& job, Fitter& fitter, const FitTables& tables, const Volume& v,
                                       std::span<const std::uint32_t> voxels) {
  std::vector<double> out(12 * voxels.size());
  FitWork work;
  work.signals = v.data;
  work.voxels = voxels;
  work.tensor = out.data();
  PENSTOCK_TRY(fitter.run(job, tables, work));
  return out;
}

Result<CsdFit> make_csd(const Gradients& g, const ModelPlan& plan, const FibreResponse& response) {
  std::vector<double> b;
  for (const std::size_t i : plan.shell.volumes) b.push_back(g.b[i]);
  CsdOptions how;
  how.order = plan.order;
  return CsdFit::make(b, shell_directions(g, plan), response, geodesic_directions(kConstraintParts), how);
}

}  // namespace

Status for_each_tensor(Job& job, Fitter& fitter, const DwiData& dwi, TensorMethod method,
                       const std::function<void(std::uint64_t, const Tensor3&)>& take) {
  const TensorFit fit(dwi.gradients, method);
  std::vector<std::uint32_t> voxels;
  for (std::uint64_t at = 0; at < dwi.volume.voxels(); at += kTensorVoxels) {
    voxels.resize(std::min(kTensorVoxels, dwi.volume.voxels() - at));
    std::iota(voxels.begin(), voxels.end(), static_cast<std::uint32_t>(at));
    PENSTOCK_ASSIGN(const std::vector<double> tensors, tensors_of(job, fitter, fit.tables(), dwi.volume, voxels));
    for (std::size_t i = 0; i < voxels.size(); ++i) take(at + i, tensor_of(tensors.data() + 12 * i));
  }
  return {};
}

Result<std::vector<float>> fit_fa(Job& job, Fitter& fitter, const DwiData& dwi, TensorMethod method) {
  std::vector<float> fa(dwi.volume.voxels());
  PENSTOCK_TRY(for_each_tensor(job, fitter, dwi, method, [&](std::uint64_t voxel, const Tensor3& tensor) {
    fa[voxel] = static_cast<float>(tensor.fa());
  }));
  return fa;
}

Result<FibreResponse> fit_response(Job& job, Fitter& fitter, const DwiData& dwi, const TrackOptions& how) {
  if (how.response) {
    const auto [along, across, s0] = *how.response;
    return FibreResponse{{along, across, across}, s0, 0};
  }
  const Volume& v = dwi.volume;
  const Box box = centre_box(v.dims, how.response_radius);
  const TensorFit fit(dwi.gradients, how.fit);
  const FitTables& tables = fit.tables();
  std::vector<std::uint32_t> voxels;
  std::vector<float> b0;
  for (std::uint64_t z = box.first[2]; z < box.last[2]; ++z)
    for (std::uint64_t y = box.first[1]; y < box.last[1]; ++y)
      for (std::uint64_t x = box.first[0]; x < box.last[0]; ++x) {
        const std::uint64_t voxel = (z * v.dims[1] + y) * v.dims[0] + x;
        voxels.push_back(static_cast<std::uint32_t>(voxel));
        b0.push_back(mean_unweighted(tables.params, tables.buffers(), v.data.data() + voxel * v.volumes, -1e300));
      }
  PENSTOCK_ASSIGN(const std::vector<double> numbers, tensors_of(job, fitter, tables, v, voxels));
  std::vector<Tensor3> tensors;
  for (std::size_t i = 0; i < voxels.size(); ++i) tensors.push_back(tensor_of(numbers.data() + 12 * i));
  return mean_response(tensors, b0, how.response_fa);
}

Result<ModelPlan> plan_model(const Gradients& g, const TrackOptions& how, DwiModel model) {
  ModelPlan plan;
  plan.model = model;
  const std::vector<Shell> all = shells(g);
  std::string have;
  for (const Shell& shell : all) {
    have += fmt::format("{}b {} ({} volumes)", have.empty() ? "" : ", ", shell.b, shell.volumes.size());
    const bool better =
        how.shell ? std::abs(shell.b - *how.shell) < 0.05 * shell.b : shell.volumes.size() > plan.shell.volumes.size();
    if (better) plan.shell = shell;
  }
  if (plan.shell.volumes.empty())
    return Error(ErrorCode::invalid_argument, fmt::format("--shell {}: there is {}", how.shell.value_or(0), have));
  const std::uint32_t wanted = how.sh_order.value_or(model == DwiModel::csd ? 8 : 4);
  // The bootstrap needs more directions than coefficients: what is left over is its residuals.
  const std::size_t most = plan.shell.volumes.size() - (how.method == TrackMethod::boot ? 1 : 0);
  plan.order = wanted;
  while (plan.order > 2 && sh_count(plan.order) > most) plan.order -= 2;
  if (sh_count(plan.order) > most)
    return Error(ErrorCode::invalid_argument,
                 fmt::format("{} weighted volumes of b {}: {} needs {} at least", plan.shell.volumes.size(),
                             plan.shell.b, how.method == TrackMethod::boot ? "the bootstrap" : "a fit",
                             how.method == TrackMethod::boot ? 7 : 6));
  plan.reason = all.size() == 1 ? fmt::format("the one shell, b {}", plan.shell.b)
                : how.shell     ? fmt::format("--shell, of {}", have)
                                : fmt::format("the shell of most volumes, of {}", have);
  if (plan.order != wanted)
    plan.reason +=
        fmt::format("; order {} instead of {}: {} directions", plan.order, wanted, plan.shell.volumes.size());
  return plan;
}

std::vector<Direction> shell_directions(const Gradients& g, const ModelPlan& plan) {
  std::vector<Direction> out;
  for (const std::size_t i : plan.shell.volumes) out.push_back(g.vector[i]);
  return out;
}

Result<Gradients> load_gradients(const std::string& dwi, const TrackOptions& how, const Volume& volume) {
  const auto [bval_beside, bvec_beside] = gradient_files(dwi);
  const std::string bval = how.bval.empty() ? bval_beside : how.bval, bvec = how.bvec.empty() ? bvec_beside : how.bvec;
  const auto read = [](const std::string& file, bool looked_for, std::string_view option) {
    Result<std::string> text = read_text(file);
    if (!text && looked_for && text.error().code() == ErrorCode::not_found)
      text.error().set_hint(
          fmt::format("looked for beside the volume, also as .{0}s; --{0} FILE names another.", option));
    return text;
  };
  PENSTOCK_ASSIGN(const std::string bval_text, read(bval, how.bval.empty(), "bval"));
  PENSTOCK_ASSIGN(const std::string bvec_text, read(bvec, how.bvec.empty(), "bvec"));
  PENSTOCK_ASSIGN_IN(Gradients g, make_gradients(bval_text, bvec_text, volume.volumes, how.b0_threshold),
                     fmt::format("{}, {}, {}", dwi, bval, bvec));
  to_voxel_axes(g, how.gradients, volume.world_from_voxel);
  return g;
}

QballOptions qball_options(const TrackOptions& how, const ModelPlan& plan) {
  QballOptions q;
  q.opdt = plan.model == DwiModel::opdt;
  q.order = plan.order;
  q.smooth = how.smooth;
  q.min_signal = how.min_signal;
  return q;
}

Result<FitTables> model_tables(const Gradients& g, const ModelPlan& plan, const FibreResponse& response,
                               const TrackOptions& how) {
  FitTables t;
  if (plan.model == DwiModel::csd) {
    PENSTOCK_ASSIGN(const CsdFit csd, make_csd(g, plan, response));
    t = csd.tables();
  } else {
    PENSTOCK_ASSIGN(const QballFit qball, QballFit::make(shell_directions(g, plan), qball_options(how, plan)));
    t = qball.tables();
  }
  t.unweighted = unweighted_volumes(g);
  t.weighted.assign(plan.shell.volumes.begin(), plan.shell.volumes.end());
  t.params.unweighted = static_cast<std::uint32_t>(t.unweighted.size());
  t.params.weighted = static_cast<std::uint32_t>(t.weighted.size());
  t.params.volumes = static_cast<std::uint32_t>(g.size());
  return t;
}

FitTables coefficient_tables(std::uint64_t coefficients) {
  FitTables t;
  t.params.kind = FitKind::copy;
  t.params.volumes = t.params.weighted = t.params.coefficients = static_cast<std::uint32_t>(coefficients);
  t.weighted.resize(coefficients);
  std::iota(t.weighted.begin(), t.weighted.end(), 0u);
  return t;
}

}  // namespace penstock::tracto
