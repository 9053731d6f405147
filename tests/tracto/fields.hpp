// Fields to track: made by hand, and fitted to a phantom.
#pragma once
#include <cmath>

#include "tracto/phantom.hpp"
#include "tracto/run/field.hpp"
#include "tracto/run/place_seeds.hpp"
#include "tracto/step/list.hpp"

namespace penstock::tracto {

/// A field of dims voxels whose amplitudes `fill(voxel, direction)` gives, 0 to 1, in `n` directions.
template <class Fill>
HostField hand_field(std::array<std::uint32_t, 3> dims, const Fill& fill, std::uint32_t n = 100) {
  HostField f;
  const auto sphere = repulsion_sphere(n);
  const std::uint32_t stride = (n + 63) / 64 * 64, voxels = dims[0] * dims[1] * dims[2];
  f.params.directions = n;
  f.params.stride = stride;
  f.vertices.assign(3 * stride, 0);
  f.neighbours.assign(n * kNeighbourSlots, kNoNeighbour);
  for (std::uint32_t i = 0; i < n; ++i) {
    for (std::uint32_t d = 0; d < 3; ++d) f.vertices[d * stride + i] = static_cast<float>(sphere->vertices[i][d]);
    std::copy(sphere->neighbours[i].begin(), sphere->neighbours[i].end(), f.neighbours.begin() + i * kNeighbourSlots);
  }
  f.pmf.assign(voxels * stride, 0);
  for (std::uint32_t v = 0; v < voxels; ++v) {
    f.row.push_back(static_cast<std::int32_t>(v));
    f.scale.push_back(1.0f / 65535);
    f.stop.push_back(1);
    f.seed_list.push_back(v);
    for (std::uint32_t i = 0; i < n; ++i)
      f.pmf[v * stride + i] = static_cast<std::uint16_t>(std::lround(fill(v, sphere->vertices[i]) * 65535));
  }
  TrackParams& t = f.params;
  for (std::size_t d = 0; d < 3; ++d) {
    t.dims[d] = f.seed_params.dims[d] = dims[d];
    t.step_voxel[d] = 0.5f;
  }
  t.substeps = 1;
  t.cos_max_angle = std::cos(1.0f);
  t.cos_separation = std::cos(0.7f);
  t.pmf_threshold = 0.05f;
  t.stop_below = 0.1f;
  t.relative_peak = 0.25f;
  t.max_peaks = kMaxPeaks;
  t.max_points = 200;
  for (std::size_t i = 0; i < 3; ++i) t.world_from_voxel[5 * i] = 1;
  f.seed_params.mode = SeedMode::per_voxel;
  f.seed_params.count = voxels;
  f.seed_params.per_voxel = 1;
  return f;
}

inline double along(const Direction& v, double x, double y, double z, double power = 8) {
  return std::pow(std::abs(v[0] * x + v[1] * y + v[2] * z), power);
}

inline HostField waves() {
  return hand_field({8, 8, 8}, [](std::uint32_t v, const Direction& d) {
    const double a = 0.2 * (v % 8);
    return 0.1 + 0.8 * along(d, std::cos(a), std::sin(a), 0);
  });
}

/// A phantom as a volume in memory.
struct PhantomData {
  Volume volume;
  Gradients gradients;
  explicit PhantomData(const testing::Phantom& p = testing::crossing_phantom()) {
    for (std::size_t d = 0; d < 3; ++d) volume.dims[d] = static_cast<std::uint64_t>(p.dims[d]);
    volume.volumes = static_cast<std::uint64_t>(p.directions) + 1;
    volume.world_from_voxel.rows = p.world_from_voxel;
    for (const std::int16_t s : p.signal()) volume.data.push_back(static_cast<float>(s));
    for (const testing::Point3& v : p.gradients()) {
      const bool weighted = gradients.size() > 0;
      gradients.b.push_back(weighted ? p.b : 0);
      gradients.vector.push_back(v);
      gradients.unweighted.push_back(!weighted);
    }
  }
};

/// The field of a phantom, as `track` makes it.
inline HostField phantom_field(const PhantomData& data, const TrackOptions& how) {
  const Options options;
  Job job(options, "test", 0, 1);
  const ModelPlan plan = plan_model(data.gradients, how, model_of(how)).value();
  const auto fitter = cpu_fitter(1);
  const DwiData dwi = {data.volume, data.gradients};
  FitTables tables;
  if (how.method != TrackMethod::boot) {
    FibreResponse response;
    if (plan.model == DwiModel::csd) response = fit_response(job, *fitter, dwi, how).value();
    tables = model_tables(data.gradients, plan, response, how).value();
  }
  HostField field;
  const auto made = make_field(job, *fitter, dwi, plan, tables, how, fit_fa(job, *fitter, dwi, how.fit).value(), field);
  if (!made) throw std::runtime_error(made.error().message());
  static_cast<void>(place_seeds(data.volume, how, options, field).value());
  return field;
}

/// All streamlines of seeds `first` to before `first + count`.
inline Streamlines tracked(const HostField& field, std::uint64_t first, std::uint64_t count) {
  const Options options;
  Job job(options, "test", 0, 1);
  Streamlines all;
  for (const Streamlines& piece : cpu_trackers(field, 1).front()->chunk(job, first, count).value()) all.append(piece);
  return all;
}

}  // namespace penstock::tracto
