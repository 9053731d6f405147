#include "tracto/run/prepare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/checked.hpp"
#include "tracto/fit/csd.hpp"
#include "tracto/sh/basis.hpp"

namespace penstock::tracto {
namespace {

constexpr std::uint64_t kBlockVoxels = 64;     // of one task
constexpr std::uint32_t kConstraintParts = 6;  // 181 directions
constexpr std::uint32_t kStrideElements = 64;  // a voxel's amplitudes begin on 128 bytes

float cos_deg(double deg) { return static_cast<float>(std::cos(deg * std::numbers::pi / 180)); }

std::span<const float> signal_of(const Volume& v, std::uint64_t voxel) {
  return std::span(v.data).subspan(voxel * v.volumes, v.volumes);
}

Status in_range(std::string_view option, double value, double least, double most) {
  if (value >= least && value <= most) return {};
  return Error(ErrorCode::invalid_argument, fmt::format("{} {}: must be from {} to {}", option, value, least, most));
}

/// Amplitudes of one voxel as 16-bit parts of the largest.
void pack(const Eigen::VectorXd& amplitudes, std::uint16_t* out, float& scale) {
  const double most = std::max(0.0, amplitudes.maxCoeff());
  scale = static_cast<float>(most / 65535);
  for (Eigen::Index i = 0; i < amplitudes.size(); ++i)
    out[i] = most > 0 ? static_cast<std::uint16_t>(std::lround(std::max(0.0, amplitudes[i]) / most * 65535)) : 0;
}

void describe_sphere(const Sphere& sphere, HostField& field) {
  const auto n = static_cast<std::uint32_t>(sphere.vertices.size());
  field.params.directions = n;
  field.params.stride = (n + kStrideElements - 1) / kStrideElements * kStrideElements;
  field.vertices.assign(std::size_t{3} * field.params.stride, 0);
  field.neighbours.assign(std::size_t{n} * kNeighbourSlots, static_cast<std::uint16_t>(kNoNeighbour));
  for (std::uint32_t i = 0; i < n; ++i) {
    for (std::uint32_t d = 0; d < 3; ++d)
      field.vertices[d * field.params.stride + i] = static_cast<float>(sphere.vertices[i][d]);
    std::copy(sphere.neighbours[i].begin(), sphere.neighbours[i].end(),
              field.neighbours.begin() + static_cast<std::ptrdiff_t>(i * kNeighbourSlots));
  }
}

void set_params(const Volume& v, const TrackOptions& how, HostField& field) {
  TrackParams& t = field.params;
  field.method = how.method;
  const std::array<double, 3> size = v.voxel_size_mm();
  const double step_mm = how.step_mm.value_or(0.5 * *std::min_element(size.begin(), size.end()));
  for (std::size_t d = 0; d < 3; ++d) {
    t.dims[d] = field.seed_params.dims[d] = static_cast<std::uint32_t>(v.dims[d]);
    t.step_voxel[d] = static_cast<float>(step_mm / size[d]);
  }
  t.cos_max_angle = cos_deg(how.max_angle_deg);
  t.cos_separation = cos_deg(how.separation_deg);
  t.pmf_threshold = static_cast<float>(how.pmf_threshold);
  t.stop_below = static_cast<float>(how.stop_below);
  t.relative_peak = static_cast<float>(how.relative_peak);
  t.max_peaks = how.max_peaks;
  t.max_points = static_cast<std::uint32_t>(how.max_length_mm / step_mm) + 1;
  field.min_points = static_cast<std::uint32_t>(std::ceil(how.min_length_mm / step_mm - 1e-9)) + 1;
  for (std::size_t i = 0; i < 12; ++i) t.world_from_voxel[i] = static_cast<float>(v.world_from_voxel.rows[i]);
  for (const auto seed : {t.random_seed, field.seed_params.random_seed}) {
    seed[0] = static_cast<std::uint32_t>(how.random_seed);
    seed[1] = static_cast<std::uint32_t>(how.random_seed >> 32);
  }
}

}  // namespace

Status check_options(const TrackOptions& how) {
  if (how.sh_order < 2 || how.sh_order > 12 || how.sh_order % 2 != 0)
    return Error(ErrorCode::invalid_argument, fmt::format("--sh-order {}: must be 2, 4, 6, 8, 10 or 12", how.sh_order));
  PENSTOCK_TRY(in_range("--b0-threshold", how.b0_threshold, 0, 1e6));
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
  PENSTOCK_TRY(in_range("--min-length-mm", how.min_length_mm, 0, 1e5));
  PENSTOCK_TRY(in_range("--max-length-mm", how.max_length_mm, how.min_length_mm, 1e5));
  PENSTOCK_TRY(in_range("--seeds", static_cast<double>(how.seeds), 0, 1e12));
  PENSTOCK_TRY(in_range("--first-seed", static_cast<double>(how.first_seed), 0, 1e12));
  PENSTOCK_TRY(in_range("--seeds-per-voxel", how.seeds_per_voxel, 1, 1e6));
  return in_range("--chunk-seeds", static_cast<double>(how.chunk_seeds), 1, 1e7);
}

float mean_unweighted(const Volume& v, const Gradients& g, std::uint64_t voxel) {
  double sum = 0, n = 0;
  for (std::size_t i = 0; i < g.size(); ++i) {
    if (!g.unweighted[i]) continue;
    sum += static_cast<double>(v.data[voxel * v.volumes + i]);
    n += 1;
  }
  return static_cast<float>(sum / n);
}

Result<std::vector<float>> fit_fa(Job& job, const Volume& v, const Gradients& g) {
  const TensorFit tensor(g);
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
  const TensorFit tensor(g);
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

Result<CsdPlan> plan_csd(const Gradients& g, const TrackOptions& how) {
  CsdPlan plan;
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
  plan.order = how.sh_order;
  while (plan.order > 2 && sh_count(plan.order) > plan.shell.volumes.size()) plan.order -= 2;
  if (sh_count(plan.order) > plan.shell.volumes.size())
    return Error(ErrorCode::invalid_argument, fmt::format("{} weighted volumes of b {}: deconvolution needs 6 at least",
                                                          plan.shell.volumes.size(), plan.shell.b));
  plan.reason = all.size() == 1 ? fmt::format("the one shell, b {}", plan.shell.b)
                : how.shell     ? fmt::format("--shell, of {}", have)
                                : fmt::format("the shell of most volumes, of {}", have);
  if (plan.order != how.sh_order)
    plan.reason +=
        fmt::format("; order {} instead of {}: {} directions", plan.order, how.sh_order, plan.shell.volumes.size());
  return plan;
}

Result<Gradients> load_gradients(const std::string& dwi, const TrackOptions& how, std::uint64_t volumes) {
  const auto [bval_beside, bvec_beside] = gradient_files(dwi);
  const std::string bval = how.bval.empty() ? bval_beside : how.bval, bvec = how.bvec.empty() ? bvec_beside : how.bvec;
  PENSTOCK_ASSIGN(const std::string bval_text, read_text(bval));
  PENSTOCK_ASSIGN(const std::string bvec_text, read_text(bvec));
  PENSTOCK_ASSIGN_IN(Gradients g, make_gradients(bval_text, bvec_text, volumes, how.b0_threshold),
                     fmt::format("{}, {}, {}", dwi, bval, bvec));
  return g;
}

Result<CsdFit> make_csd(const Gradients& g, const CsdPlan& plan, const FibreResponse& response) {
  std::vector<double> b;
  std::vector<Direction> directions;
  for (const std::size_t i : plan.shell.volumes) {
    b.push_back(g.b[i]);
    directions.push_back(g.vector[i]);
  }
  CsdOptions how;
  how.order = plan.order;
  return CsdFit::make(b, directions, response, geodesic_directions(kConstraintParts), how);
}

Status for_each_csd(Job& job, const Volume& v, const CsdPlan& plan, const CsdFit& csd,
                    std::span<const std::uint32_t> voxels,
                    const std::function<void(std::uint64_t, const Eigen::VectorXd&)>& take) {
  return job.run([&] {
    return job.for_each(div_up(voxels.size(), kBlockVoxels), true, [&](std::uint64_t block) -> Status {
      Eigen::VectorXd signal(static_cast<Eigen::Index>(plan.shell.volumes.size()));
      const std::uint64_t end = std::min<std::uint64_t>(voxels.size(), (block + 1) * kBlockVoxels);
      for (std::uint64_t r = block * kBlockVoxels; r < end; ++r) {
        const std::span<const float> all = signal_of(v, voxels[r]);
        for (std::size_t i = 0; i < plan.shell.volumes.size(); ++i)
          signal[static_cast<Eigen::Index>(i)] = static_cast<double>(all[plan.shell.volumes[i]]);
        take(r, csd.fit(signal));
      }
      return {};
    });
  });
}

Result<std::uint64_t> fit_field(Job& job, const Volume& v, const Gradients& g, const CsdPlan& plan,
                                const FibreResponse& response, const TrackOptions& how, std::vector<float> fa,
                                HostField& field) {
  PENSTOCK_ASSIGN(const CsdFit csd, make_csd(g, plan, response));
  PENSTOCK_ASSIGN(const Sphere sphere, repulsion_sphere(how.sphere));
  describe_sphere(sphere, field);
  set_params(v, how, field);
  const Eigen::MatrixXd sampling = sh_matrix(sphere.vertices, plan.order);

  field.row.assign(v.voxels(), -1);
  for (std::uint64_t i = 0; i < v.voxels(); ++i)
    if (fa[i] > field.params.stop_below) {
      field.row[i] = static_cast<std::int32_t>(field.seed_voxels.size());
      field.seed_voxels.push_back(static_cast<std::uint32_t>(i));
    }
  const std::uint64_t rows = field.seed_voxels.size();
  if (rows == 0)
    return Error(ErrorCode::invalid_argument,
                 fmt::format("no voxel has {} above {}", how.stop.empty() ? "a fractional anisotropy" : how.stop,
                             how.stop_below))
        .set_hint("a lower --stop-below finds some.");
  field.pmf.assign(rows * field.params.stride, 0);
  field.scale.assign(rows, 0);
  PENSTOCK_TRY(for_each_csd(job, v, plan, csd, field.seed_voxels, [&](std::uint64_t r, const Eigen::VectorXd& f) {
    pack(sampling * f, field.pmf.data() + r * field.params.stride, field.scale[r]);
  }));
  field.stop = std::move(fa);
  field.seed_params.voxels = static_cast<std::uint32_t>(rows);
  field.seed_params.per_voxel = how.seeds > 0 ? 0 : how.seeds_per_voxel;
  return rows;
}

}  // namespace penstock::tracto
