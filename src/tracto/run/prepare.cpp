#include "tracto/run/prepare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/checked.hpp"
#include "tracto/sh/basis.hpp"

namespace penstock::tracto {
namespace {

constexpr std::uint64_t kBlockVoxels = 64;     // of one task
constexpr std::uint32_t kConstraintParts = 6;  // 181 directions

std::span<const float> signal_of(const Volume& v, std::uint64_t voxel) {
  return std::span(v.data).subspan(voxel * v.volumes, v.volumes);
}

Result<CsdFit> make_csd(const Gradients& g, const ModelPlan& plan, const FibreResponse& response) {
  std::vector<double> b;
  for (const std::size_t i : plan.shell.volumes) b.push_back(g.b[i]);
  CsdOptions how;
  how.order = plan.order;
  return CsdFit::make(b, shell_directions(g, plan), response, geodesic_directions(kConstraintParts), how);
}

}  // namespace

float mean_unweighted(const Volume& v, const Gradients& g, std::uint64_t voxel, double least) {
  double sum = 0, n = 0;
  for (std::size_t i = 0; i < g.size(); ++i) {
    if (!g.unweighted[i]) continue;
    const auto s = static_cast<double>(v.data[voxel * v.volumes + i]);
    sum += s > least ? s : least;
    n += 1;
  }
  return static_cast<float>(sum / n);
}

Result<std::vector<float>> fit_fa(Job& job, const Volume& v, const Gradients& g, TensorMethod method) {
  const TensorFit tensor(g, method);
  std::vector<float> fa(v.voxels());
  PENSTOCK_TRY(job.run([&] {
    return job.for_each(div_up(v.voxels(), kBlockVoxels), true, [&](std::uint64_t block) -> Status {
      const std::uint64_t end = std::min(v.voxels(), (block + 1) * kBlockVoxels);
      for (std::uint64_t i = block * kBlockVoxels; i < end; ++i)
        if (mean_unweighted(v, g, i) > 0) fa[i] = static_cast<float>(tensor.fit(signal_of(v, i)).fa());
      return {};
    });
  }));
  return fa;
}

Result<FibreResponse> fit_response(const Volume& v, const Gradients& g, const TrackOptions& how) {
  const Box box = centre_box(v.dims, how.response_radius);
  const TensorFit tensor(g, how.fit);
  std::vector<Tensor3> tensors;
  std::vector<float> b0;
  for (std::uint64_t z = box.first[2]; z < box.last[2]; ++z)
    for (std::uint64_t y = box.first[1]; y < box.last[1]; ++y)
      for (std::uint64_t x = box.first[0]; x < box.last[0]; ++x) {
        const std::uint64_t voxel = (z * v.dims[1] + y) * v.dims[0] + x;
        b0.push_back(mean_unweighted(v, g, voxel));
        tensors.push_back(b0.back() > 0 ? tensor.fit(signal_of(v, voxel)) : Tensor3());
      }
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
  PENSTOCK_ASSIGN(const std::string bval_text, read_text(bval));
  PENSTOCK_ASSIGN(const std::string bvec_text, read_text(bvec));
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

Result<VoxelFit> make_voxel_fit(const Gradients& g, const ModelPlan& plan, const FibreResponse& response,
                                const TrackOptions& how) {
  if (plan.model == DwiModel::csd) {
    PENSTOCK_ASSIGN(CsdFit csd, make_csd(g, plan, response));
    return VoxelFit([csd = std::move(csd)](const Eigen::VectorXd& signal, double) { return csd.fit(signal); });
  }
  PENSTOCK_ASSIGN(QballFit qball, QballFit::make(shell_directions(g, plan), qball_options(how, plan)));
  return VoxelFit(
      [qball = std::move(qball)](const Eigen::VectorXd& signal, double b0) { return qball.fit(signal, b0); });
}

Status for_each_fit(Job& job, const Volume& v, const Gradients& g, const ModelPlan& plan, const VoxelFit& fit,
                    double min_signal, std::span<const std::uint32_t> voxels,
                    const std::function<void(std::uint64_t, const Eigen::VectorXd&)>& take) {
  return job.run([&] {
    return job.for_each(div_up(voxels.size(), kBlockVoxels), true, [&](std::uint64_t block) -> Status {
      Eigen::VectorXd signal(static_cast<Eigen::Index>(plan.shell.volumes.size()));
      const std::uint64_t end = std::min<std::uint64_t>(voxels.size(), (block + 1) * kBlockVoxels);
      for (std::uint64_t r = block * kBlockVoxels; r < end; ++r) {
        const std::span<const float> all = signal_of(v, voxels[r]);
        for (std::size_t i = 0; i < plan.shell.volumes.size(); ++i)
          signal[static_cast<Eigen::Index>(i)] = static_cast<double>(all[plan.shell.volumes[i]]);
        take(r, fit(signal, static_cast<double>(mean_unweighted(v, g, voxels[r], min_signal))));
      }
      return {};
    });
  });
}

}  // namespace penstock::tracto
