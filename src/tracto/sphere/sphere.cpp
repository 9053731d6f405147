#include "tracto/sphere/sphere.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "core/checked.hpp"
#include "exec/job.hpp"
#include "tracto/clones.hpp"

namespace penstock::tracto {
namespace {

constexpr int kRelaxations = 60;

double dot(const Direction& a, const Direction& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
Direction cross(const Direction& a, const Direction& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
Direction normalized(const Direction& a) {
  const double norm = std::sqrt(dot(a, a));
  return {a[0] / norm, a[1] / norm, a[2] / norm};
}
Direction negated(const Direction& a) { return {-a[0], -a[1], -a[2]}; }

/// Calls take(first, end) for blocks of directions below `count`, on the job's threads where there is one.
template <class Take>
Status each_block(std::size_t count, Job* job, const Take& take) {
  if (job == nullptr) return take(std::size_t{0}, count);
  constexpr std::size_t kBlock = 32;
  return job->run([&] {
    return job->for_each(div_up(count, kBlock), true,
                         [&](std::uint64_t i) { return take(i * kBlock, std::min(count, (i + 1) * kBlock)); });
  });
}

/// Coordinates one behind the other, for vectors.
struct Coordinates {
  explicit Coordinates(std::size_t count) : x(count), y(count), z(count) {}
  std::vector<double> x, y, z;
};

/// 1 / |a - b|^3 of unit vectors with this scalar product.
inline double repulsion(double product) {
  const double squared = 2 - 2 * product, r2 = squared > 1e-12 ? squared : 1e-12;  // of std::max come no vectors
  return 1 / (r2 * std::sqrt(r2));
}

/// Adds to the force on each of n points that of point `from`, which is none of them.  Of the force along the sphere
/// only the part along the other point is left: it pushes away from that point, and towards it as from its antipode.
inline void push_from(const Direction& from, std::size_t n, const double* __restrict x, const double* __restrict y,
                      const double* __restrict z, double* __restrict fx, double* __restrict fy, double* __restrict fz) {
  const double px = from[0], py = from[1], pz = from[2];
  for (std::size_t i = 0; i < n; ++i) {
    const double product = x[i] * px + y[i] * py + z[i] * pz;
    const double push = repulsion(-product) - repulsion(product);
    fx[i] += push * (px - product * x[i]);
    fy[i] += push * (py - product * y[i]);
    fz[i] += push * (pz - product * z[i]);
  }
}

/// The forces on points [first, end), added from point 0 on.
PENSTOCK_CLONES void sum_forces(const Coordinates& p, std::size_t first, std::size_t end, Coordinates& force) {
  for (std::vector<double>* f : {&force.x, &force.y, &force.z}) std::fill(f->data() + first, f->data() + end, 0.0);
  const auto push = [&](std::size_t k, std::size_t at, std::size_t to) {
    if (at < to)
      push_from({p.x[k], p.y[k], p.z[k]}, to - at, &p.x[at], &p.y[at], &p.z[at], &force.x[at], &force.y[at],
                &force.z[at]);
  };
  for (std::size_t k = 0; k < p.x.size(); ++k) {
    push(k, first, std::min(k, end));
    push(k, std::max(k + 1, first), end);
  }
}

/// A golden spiral over the half sphere, turned by multiplication.
std::vector<Direction> spiral(std::uint32_t count) {
  constexpr double kCos = -0.73736887807831986, kSin = 0.67549029426152364;  // of the golden angle
  std::vector<Direction> out;
  double c = 1, s = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const double z = (i + 0.5) / count, r = std::sqrt(1 - z * z);
    out.push_back({r * c, r * s, z});
    const double turned = c * kCos - s * kSin;
    s = c * kSin + s * kCos;
    c = turned;
  }
  return out;
}

/// The directions, then their antipodes.
std::vector<Direction> both_halves(const std::vector<Direction>& half) {
  std::vector<Direction> all = half;
  for (const Direction& v : half) all.push_back(negated(v));
  return all;
}

/// Neighbours of point `at` among its nearest: with which others it makes a triangle whose cap is empty.
std::set<std::size_t> hull_neighbours(const std::vector<Direction>& all, std::size_t at) {
  constexpr std::size_t kNearest = 32;
  std::vector<std::size_t> near(all.size());
  std::iota(near.begin(), near.end(), std::size_t{0});
  const std::size_t keep = std::min(kNearest + 1, near.size());
  std::partial_sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(keep), near.end(), [&](auto a, auto b) {
    const double da = dot(all[a], all[at]), db = dot(all[b], all[at]);
    return da != db ? da > db : a < b;
  });
  near.resize(keep);
  std::erase(near, at);
  std::set<std::size_t> found;
  for (std::size_t i = 0; i < near.size(); ++i)
    for (std::size_t k = i + 1; k < near.size(); ++k) {
      const Direction &u = all[at], &v = all[near[i]], &w = all[near[k]];
      Direction n = cross({v[0] - u[0], v[1] - u[1], v[2] - u[2]}, {w[0] - u[0], w[1] - u[1], w[2] - u[2]});
      if (dot(n, n) < 1e-20) continue;
      n = normalized(n);
      if (dot(n, u) < 0) n = negated(n);
      const double height = dot(n, u) + 1e-9;
      const bool empty = std::none_of(near.begin(), near.end(), [&](auto p) { return dot(n, all[p]) > height; });
      if (empty) found.insert({near[i], near[k]});
    }
  return found;
}

}  // namespace

Result<Sphere> with_neighbours(std::vector<Direction> vertices, Job* job) {
  const std::size_t count = vertices.size();
  const std::vector<Direction> all = both_halves(vertices);
  Sphere sphere;
  sphere.neighbours.resize(count);
  PENSTOCK_TRY(each_block(count, job, [&](std::size_t first, std::size_t end) -> Status {
    for (std::size_t i = first; i < end; ++i) {
      std::set<std::size_t> unique;
      for (const std::size_t other : hull_neighbours(all, i)) unique.insert(other % count);
      unique.erase(i);
      if (unique.size() > kMaxNeighbours)
        return Error(ErrorCode::invalid_argument,
                     fmt::format("direction {} has {} neighbours, more than {}", i, unique.size(), kMaxNeighbours));
      for (const std::size_t other : unique) sphere.neighbours[i].push_back(static_cast<std::uint16_t>(other));
    }
    return {};
  }));
  sphere.vertices = std::move(vertices);
  return sphere;
}

Result<Sphere> repulsion_sphere(std::uint32_t count, Job* job) {
  if (count < 16 || count > kMaxDirections)
    return Error(ErrorCode::invalid_argument,
                 fmt::format("{} directions: must be from 16 to {}", count, kMaxDirections));
  std::vector<Direction> points = spiral(count);
  Coordinates at(count), force(count);
  const double step = 0.4 / (static_cast<double>(count) * std::sqrt(static_cast<double>(count)));
  for (int round = 0; round < kRelaxations; ++round) {
    for (std::size_t i = 0; i < count; ++i) {
      at.x[i] = points[i][0];
      at.y[i] = points[i][1];
      at.z[i] = points[i][2];
    }
    PENSTOCK_TRY(each_block(count, job, [&](std::size_t first, std::size_t end) -> Status {
      sum_forces(at, first, end, force);
      return {};
    }));
    for (std::size_t i = 0; i < count; ++i)
      points[i] = normalized(
          {points[i][0] + step * force.x[i], points[i][1] + step * force.y[i], points[i][2] + step * force.z[i]});
  }
  return with_neighbours(std::move(points), job);
}

std::vector<Direction> geodesic_directions(std::uint32_t parts) {
  const double z = 1 / std::sqrt(5.0), r = 2 / std::sqrt(5.0), pi = std::acos(-1.0), edge = std::acos(z);
  std::vector<Direction> corners = {{0, 0, 1}};
  for (int k = 0; k < 5; ++k) corners.push_back({r * std::cos(2 * pi * k / 5), r * std::sin(2 * pi * k / 5), z});
  for (std::size_t k = 0; k < 6; ++k) corners.push_back(negated(corners[k]));
  std::vector<Direction> out;
  const auto add = [&](const Direction& v) {
    for (const Direction& have : out)
      if (std::abs(dot(have, v)) > 1 - 1e-6) return;
    out.push_back(v);
  };
  const auto adjacent = [&](std::size_t a, std::size_t b) { return std::abs(dot(corners[a], corners[b]) - z) < 1e-9; };
  const auto weight = [&](std::uint32_t i) { return std::sin(edge * i / parts); };
  for (std::size_t a = 0; a < 12; ++a)
    for (std::size_t b = a + 1; b < 12; ++b)
      for (std::size_t c = b + 1; c < 12; ++c) {
        if (!adjacent(a, b) || !adjacent(b, c) || !adjacent(a, c)) continue;
        for (std::uint32_t i = 0; i <= parts; ++i)
          for (std::uint32_t j = 0; i + j <= parts; ++j) {
            Direction v = {0, 0, 0};
            for (std::size_t d = 0; d < 3; ++d)
              v[d] = weight(i) * corners[a][d] + weight(j) * corners[b][d] + weight(parts - i - j) * corners[c][d];
            add(normalized(v));
          }
      }
  return out;
}

}  // namespace penstock::tracto
