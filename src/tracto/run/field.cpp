#include "tracto/run/field.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/checked.hpp"
#include "tracto/field/nearest.hpp"
#include "tracto/field/signal.hpp"
#include "tracto/run/peak_maps.hpp"
#include "tracto/sh/basis.hpp"
#include "tracto/step/disc.hpp"

namespace penstock::tracto {
namespace {

constexpr std::uint32_t kStrideElements = 64;  // a voxel's amplitudes begin on 128 bytes
constexpr std::uint32_t kColumnElements = 8;   // columns of small matrices begin on 32

std::uint32_t padded(std::uint32_t n, std::uint32_t to) { return (n + to - 1) / to * to; }

float cos_deg(double deg) { return static_cast<float>(std::cos(deg * std::numbers::pi / 180)); }

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
  const double smallest = *std::min_element(size.begin(), size.end());
  const double step_mm = field.step_mm = how.step_mm.value_or(how.step_voxels.value_or(0.5) * smallest);
  t.substeps = how.method == TrackMethod::ptt ? how.substeps : 1;
  for (std::size_t d = 0; d < 3; ++d) {
    t.dims[d] = field.seed_params.dims[d] = static_cast<std::uint32_t>(v.dims[d]);
    t.step_voxel[d] = static_cast<float>(step_mm / t.substeps / size[d]);
    t.probe.voxel_per_mm[d] = static_cast<float>(1 / size[d]);
  }
  t.cos_max_angle = cos_deg(how.max_angle_deg);
  t.pmf_threshold = static_cast<float>(how.pmf_threshold);
  t.stop_below = static_cast<float>(how.stop_below);
  t.max_points = static_cast<std::uint32_t>(how.max_length_mm / step_mm) + 1;
  field.min_points = static_cast<std::uint32_t>(std::ceil(how.min_length_mm / step_mm - 1e-9)) + 1;
  for (std::size_t i = 0; i < 12; ++i) t.world_from_voxel[i] = static_cast<float>(v.world_from_voxel.rows[i]);
  for (const auto seed : {t.random_seed, field.seed_params.random_seed}) {
    seed[0] = static_cast<std::uint32_t>(how.random_seed);
    seed[1] = static_cast<std::uint32_t>(how.random_seed >> 32);
  }
  const double turn = 2 * std::sin(how.max_angle_deg * std::numbers::pi / 360) / step_mm;
  t.probe.max_curvature = static_cast<float>(how.min_radius_mm ? 1 / *how.min_radius_mm : turn);
  t.probe.quality = how.probe_quality;
  t.probe.count = how.probe_count;
  t.probe.step_mm = static_cast<float>(how.probe_length_mm.value_or(0.5 * step_mm) / (how.probe_quality - 1));
  t.probe.radius_mm = static_cast<float>(how.probe_radius_mm.value_or(0.5 * smallest));
}

/// Numbers the voxels in `take`, in their order.
std::vector<std::uint32_t> number_rows(const std::vector<bool>& take, HostField& field) {
  std::vector<std::uint32_t> voxels;
  field.row.assign(take.size(), -1);
  for (std::size_t i = 0; i < take.size(); ++i) {
    if (!take[i]) continue;
    field.row[i] = static_cast<std::int32_t>(voxels.size());
    voxels.push_back(static_cast<std::uint32_t>(i));
  }
  return voxels;
}

/// The voxels of a list and all that touch one.
std::vector<bool> dilated(const std::array<std::uint64_t, 3>& dims, std::span<const std::uint32_t> voxels) {
  std::vector<bool> take(dims[0] * dims[1] * dims[2]);
  const auto first = [](std::uint64_t at) { return at > 0 ? at - 1 : at; };
  const auto last = [&](std::uint64_t at, int d) { return std::min(at + 1, dims[static_cast<std::size_t>(d)] - 1); };
  for (const std::uint32_t voxel : voxels) {
    const std::uint64_t x = voxel % dims[0], y = voxel / dims[0] % dims[1], z = voxel / dims[0] / dims[1];
    for (std::uint64_t k = first(z); k <= last(z, 2); ++k)
      for (std::uint64_t j = first(y); j <= last(y, 1); ++j)
        for (std::uint64_t i = first(x); i <= last(x, 0); ++i) take[(k * dims[1] + j) * dims[0] + i] = true;
  }
  return take;
}

/// Appends a matrix column by column, each filled up to `stride`.
void append_columns(const Eigen::MatrixXd& m, std::uint32_t stride, std::vector<float>& to) {
  for (Eigen::Index j = 0; j < m.cols(); ++j) {
    for (Eigen::Index i = 0; i < m.rows(); ++i) to.push_back(static_cast<float>(m(i, j)));
    to.insert(to.end(), stride - static_cast<std::size_t>(m.rows()), 0.0f);
  }
}

/// What the bootstrap multiplies with: BootMatrices.
Status describe_bootstrap(const Gradients& g, const ModelPlan& plan, const TrackOptions& how, const Sphere& sphere,
                          HostField& field) {
  BootParams& b = field.params.boot;
  const std::vector<Direction> directions = shell_directions(g, plan);
  if (directions.size() > kMaxWeighted)
    return Error(ErrorCode::invalid_argument, fmt::format("the bootstrap takes {} weighted volumes at most; the shell "
                                                          "has {}",
                                                          kMaxWeighted, directions.size()));
  PENSTOCK_ASSIGN(const QballFit qball, QballFit::make(directions, qball_options(how, plan)));
  PENSTOCK_ASSIGN(const HatMatrix hat, hat_matrix(qball.basis()));
  b.weighted = static_cast<std::uint32_t>(directions.size());
  b.coefficients = sh_count(plan.order);
  b.signal_stride = padded(b.weighted + 1, kColumnElements);
  b.row_stride = padded(b.weighted, kColumnElements);
  b.sh_stride = padded(b.coefficients + 1, kColumnElements);
  b.is_opdt = plan.model == DwiModel::opdt ? 1 : 0;
  b.retry = how.boot_retry ? 1 : 0;
  b.min_signal = static_cast<float>(how.min_signal);
  Eigen::MatrixXd project(b.coefficients + 1, b.weighted);
  project << hat.u.transpose(), hat.mean.transpose();
  append_columns(project, b.sh_stride, field.fit);
  append_columns(hat.u, b.row_stride, field.fit);
  append_columns(hat.leverage, b.row_stride, field.fit);
  append_columns(qball.first(), b.sh_stride, field.fit);
  const Eigen::MatrixXd none = Eigen::MatrixXd::Zero(b.coefficients, b.weighted);
  append_columns(b.is_opdt != 0 ? qball.second() : none, b.sh_stride, field.fit);
  append_columns(sh_matrix(sphere.vertices, plan.order), field.params.stride, field.fit);
  return {};
}

/// The signals of the shell and the mean unweighted one, a row for each voxel.
void fill_signals(const Volume& v, const Gradients& g, const ModelPlan& plan, std::span<const std::uint32_t> voxels,
                  HostField& field) {
  const BootParams& b = field.params.boot;
  const std::vector<std::uint32_t> unweighted = unweighted_volumes(g);
  FitParams p = {};
  p.unweighted = static_cast<std::uint32_t>(unweighted.size());
  FitBuffers in = {};
  in.unweighted = unweighted.data();
  field.signal.assign(voxels.size() * b.signal_stride, 0);
  for (std::size_t r = 0; r < voxels.size(); ++r) {
    float* const to = field.signal.data() + r * b.signal_stride;
    for (std::size_t i = 0; i < plan.shell.volumes.size(); ++i) {
      const float s = v.data[std::uint64_t{voxels[r]} * v.volumes + plan.shell.volumes[i]];
      to[i] = std::isfinite(s) ? s : 0;
    }
    to[b.signal_stride - 1] =
        mean_unweighted(p, in, v.data.data() + std::uint64_t{voxels[r]} * v.volumes, static_cast<double>(b.min_signal));
  }
}

/// Fits the voxels of seed_list and samples what was fitted.
Status fit_amplitudes(Job& job, Fitter& fitter, const Volume& v, const ModelPlan& plan, const Sphere& sphere,
                      FitTables tables, HostField& field) {
  const Eigen::MatrixXd sampling = sh_matrix(sphere.vertices, plan.order, plan.basis);
  tables.sampling.assign(sampling.data(), sampling.data() + sampling.size());
  tables.params.directions = field.params.directions;
  tables.params.stride = field.params.stride;
  field.pmf.resize(field.seed_list.size() * field.params.stride);  // the fit fills it
  field.scale.resize(field.seed_list.size());
  FitWork work;
  work.signals = v.data;
  work.voxels = field.seed_list;
  work.pmf = field.pmf.data();
  work.scale = field.scale.data();
  return fitter.run(job, tables, work);
}

}  // namespace

void describe_directions(const TrackOptions& how, const Sphere& sphere, HostField& field) {
  describe_sphere(sphere, field);
  field.params.cos_separation = cos_deg(how.separation_deg);
  field.params.relative_peak = static_cast<float>(how.relative_peak);
  field.params.max_peaks = how.max_peaks;
}

void describe_cells(const Sphere& sphere, HostField& field) {
  field.nearest.resize(kCells);
  for (std::uint32_t cell = 0; cell < kCells; ++cell) {
    const Vec3 d = middle_of(cell);
    double best = -1;
    for (std::size_t i = 0; i < sphere.vertices.size(); ++i) {
      const Direction& v = sphere.vertices[i];
      const double along =
          std::abs(v[0] * static_cast<double>(d.x) + v[1] * static_cast<double>(d.y) + v[2] * static_cast<double>(d.z));
      if (along <= best) continue;
      best = along;
      field.nearest[cell] = static_cast<std::uint16_t>(i);
    }
  }
  Disc disc = make_disc();
  field.disc = std::move(disc.numbers);
  field.triangle = std::move(disc.triangles);
}

Status make_field(Job& job, Fitter& fitter, const DwiData& dwi, const ModelPlan& plan, FitTables tables,
                  const TrackOptions& how, std::vector<float> stop, HostField& field) {
  const Volume& v = dwi.volume;
  PENSTOCK_ASSIGN(const Sphere sphere, repulsion_sphere(how.sphere, &job));
  describe_directions(how, sphere, field);
  set_params(v, how, field);
  std::vector<bool> above(v.voxels());
  for (std::size_t i = 0; i < above.size(); ++i) above[i] = stop[i] > field.params.stop_below;
  field.seed_list = number_rows(above, field);
  if (field.seed_list.empty())
    return Error(ErrorCode::invalid_argument,
                 fmt::format("no voxel has {} above {}", how.stop.empty() ? "a fractional anisotropy" : how.stop,
                             how.stop_below))
        .set_hint("a lower --stop-below finds some.");
  if (how.method == TrackMethod::boot) {
    PENSTOCK_TRY(describe_bootstrap(dwi.gradients, plan, how, sphere, field));
    fill_signals(v, dwi.gradients, plan, number_rows(dilated(v.dims, field.seed_list), field), field);
  } else {
    PENSTOCK_TRY(plan.from_peaks ? field_of_peaks(job, v, field)
                                 : fit_amplitudes(job, fitter, v, plan, sphere, std::move(tables), field));
    // Parallel transport compares amplitudes with a threshold that is the same everywhere: all have their largest at 1.
    if (how.method == TrackMethod::ptt) {
      describe_cells(sphere, field);
      for (float& scale : field.scale) scale = scale > 0 ? 1.0f / 65535 : 0;
    }
  }
  field.stop = std::move(stop);
  field.fitted_voxels = field.seed_list.size();
  return {};
}

}  // namespace penstock::tracto
