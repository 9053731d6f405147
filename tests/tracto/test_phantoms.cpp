// Fields whose streamlines are known beforehand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "tracto/oracle.hpp"

namespace penstock::tracto {
namespace {

/// Directions of the plane, so many in half a turn, each with its two neighbours.
HostField plane_field(std::array<std::uint32_t, 3> dims, std::uint32_t count,
                      const std::function<double(std::uint32_t voxel, const Direction&)>& fill) {
  std::vector<Direction> directions;
  for (std::uint32_t i = 0; i < count; ++i) {
    const double turn = std::numbers::pi * i / count;
    directions.push_back({std::cos(turn), std::sin(turn), 0});
  }
  HostField f = hand_field(dims, [](auto, const Direction&) { return 0.0; });
  std::fill(f.vertices.begin(), f.vertices.end(), 0.0f);
  std::fill(f.neighbours.begin(), f.neighbours.end(), static_cast<std::uint16_t>(kNoNeighbour));
  f.params.directions = count;
  const std::uint32_t stride = f.params.stride;
  for (std::uint32_t i = 0; i < count; ++i) {
    for (std::uint32_t d = 0; d < 3; ++d) f.vertices[d * stride + i] = static_cast<float>(directions[i][d]);
    f.neighbours[i * kNeighbourSlots] = static_cast<std::uint16_t>((i + 1) % count);
    f.neighbours[i * kNeighbourSlots + 1] = static_cast<std::uint16_t>((i + count - 1) % count);
  }
  for (std::uint32_t v = 0; v < dims[0] * dims[1] * dims[2]; ++v)
    for (std::uint32_t i = 0; i < count; ++i)
      f.pmf[v * stride + i] = static_cast<std::uint16_t>(std::lround(fill(v, directions[i]) * 65535));
  return f;
}

template <class Step>
std::vector<Vec3> followed(const HostField& f, std::uint64_t number, const Vec3& seed, const Vec3& direction) {
  typename Step::template ScratchOf<kMaxAmplitudes> scratch;
  std::vector<Vec3> slot(f.params.max_points), out;
  const Followed line = follow<Step>(HostTeam<32>(), f.params, f.buffers(), scratch, DrawKey{{0, 0}, number, 0, 0},
                                     seed, corners_of(f.params, seed), direction, slot.data());
  for (std::uint32_t i = 0; i < line.forward + line.backward; ++i)
    out.push_back(world_point(f.params, line, slot.data(), i));
  return out;
}

/// A row along x and a column along y that cross at (3, 2), in steps of a voxel from middle to middle.
HostField cross_field(double most_degrees) {
  HostField f = plane_field({6, 5, 1}, 2, [](std::uint32_t v, const Direction& d) {
    const std::uint32_t x = v % 6, y = v / 6;
    const bool row = y == 2, column = x == 3, along_x = std::abs(d[0]) > 0.5;
    return (row && along_x) || (column && !along_x) ? 1.0 : 0.0;
  });
  for (float& step : f.params.step_voxel) step = 1;
  for (std::uint32_t v = 0; v < 30; ++v) f.stop[v] = v / 6 == 2 || v % 6 == 3 ? 1.0f : 0.0f;
  f.params.stop_below = 0.5f;
  f.params.cos_max_angle = static_cast<float>(std::cos(most_degrees * std::numbers::pi / 180));
  return f;
}

TEST(Crossing, IsCrossedStraightOrLeftByADrawWhereTheAngleAllows) {
  const Vec3 seed = {1, 2, 0};
  const HostField below = cross_field(80), above = cross_field(90.01);
  std::size_t straight = 0, turned = 0;
  for (std::uint64_t number = 0; number < 200; ++number) {
    const std::vector<Vec3> narrow = followed<ProbStep>(below, number, seed, {1, 0, 0});
    ASSERT_EQ(narrow.size(), 6u);
    for (std::size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(narrow[i].x, static_cast<float>(i));
      EXPECT_EQ(narrow[i].y, 2.0f);
    }
    const std::vector<Vec3> wide = followed<ProbStep>(above, number, seed, {1, 0, 0});
    ASSERT_GE(wide.size(), 5u);
    for (std::size_t i = 0; i < 4; ++i) {  // to the crossing
      EXPECT_EQ(wide[i].x, static_cast<float>(i));
      EXPECT_EQ(wide[i].y, 2.0f);
    }
    const bool went_on = wide[4].x == 4;
    EXPECT_EQ(wide[4].y, went_on ? 2.0f : wide[4].y > 2 ? 3.0f : 1.0f);
    for (std::size_t i = 5; i < wide.size(); ++i) EXPECT_EQ(went_on ? wide[i].y : wide[i].x, went_on ? 2.0f : 3.0f);
    ++(went_on ? straight : turned);
  }
  EXPECT_GT(straight, 70u);
  EXPECT_GT(turned, 70u);
}

TEST(Circle, DriftsNoFurtherThanStepsAlongTheTangentDo) {
  constexpr double kRadius = 20, kStep = 0.25, kApart = std::numbers::pi / 100;  // radians between directions
  HostField f = plane_field({51, 51, 1}, 100, [](std::uint32_t v, const Direction& d) {
    const double x = v % 51 - 25.0, y = v / 51 - 25.0, r = std::max(std::sqrt(x * x + y * y), 1e-9);
    return along(d, -y / r, x / r, 0);
  });
  for (float& step : f.params.step_voxel) step = kStep;
  f.params.max_points = 400;  // 5 radians
  const std::vector<Vec3> line = followed<DetStep>(f, 0, {45, 25, 0}, {0, 1, 0});
  ASSERT_EQ(line.size(), 400u);
  const auto seed = std::find_if(line.begin(), line.end(), [](const Vec3& p) { return p.x == 45 && p.y == 25; });
  ASSERT_NE(seed, line.end());
  // A step along the tangent leads step^2 / 2 R outwards; the direction is the nearest of those there are.
  const double a_step = kStep * kStep / (2 * kRadius) + kStep * kApart / 2;
  double most = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const double r = std::hypot(static_cast<double>(line[i].x) - 25, static_cast<double>(line[i].y) - 25);
    const double steps = std::abs(static_cast<double>(i) - static_cast<double>(seed - line.begin()));
    EXPECT_LE(std::abs(r - kRadius), a_step * steps + 0.02) << i;
    most = std::max(most, r - kRadius);
  }
  RecordProperty("drift_voxels", std::to_string(most));
  // Errors of the nearest direction cancel over the circle; what is left is the drift that was foretold.
  const auto longest = static_cast<double>(std::max(seed - line.begin(), line.end() - seed));
  EXPECT_NEAR(most, longest * kStep * kStep / (2 * kRadius), 0.1);
}

/// Helices about one axis, each a voxel's fibre; voxels of 1 mm.
struct Helices {
  static constexpr double kRadius = 8, kRise = 0.2 * kRadius;  ///< voxels; the rise of a radian
  static constexpr double kCurvature = kRadius / (kRadius * kRadius + kRise * kRise);
  static constexpr std::uint32_t kAcross = 32, kHigh = 21;
  static constexpr double kMiddle = (kAcross - 1) / 2.0;

  static Vector3d tangent(double x, double y) { return Vector3d(kMiddle - y, x - kMiddle, kRise).normalized(); }
  static Vector3d outward(double turn) { return {std::cos(turn), std::sin(turn), 0}; }
  static Vector3d point(double turn) { return Vector3d(kMiddle, kMiddle, (kHigh - 1) / 2.0) + kRadius * outward(turn); }

  /// The amplitude of a direction is its cosine with the fibre to a power; no arc is narrower than `min_radius`.
  static HostField field(double power, double min_radius) {
    HostField f = hand_field(
        {kAcross, kAcross, kHigh},
        [&](std::uint32_t v, const Direction& d) {
          const Vector3d t = tangent(v % kAcross, v / kAcross % kAcross);
          return along(d, t[0], t[1], t[2], power);
        },
        362);
    describe_cells(*repulsion_sphere(362), f);
    TrackParams& t = f.params;
    t.substeps = 20;
    t.max_points = 81;  // all of one half: 40 voxels
    t.probe = {static_cast<float>(1 / min_radius), 0.25f / 3, 0, 4, 1, {1, 1, 1}};
    for (float& step : t.step_voxel) step = 0.5f / static_cast<float>(t.substeps);
    return f;
  }
};

/// How far outwards a tangent must point for the mean of the curvatures that are drawn to be the helix's.
double lag(const HostField& f) {
  const PttOracle oracle(f);
  const auto mean_curvature = [&](double outwards) {
    constexpr int kTurns = 16;
    double sum = 0;
    for (int i = 0; i < kTurns; ++i) {
      const double turn = 2 * std::numbers::pi * i / kTurns;
      const Vector3d p = Helices::point(turn), t = Helices::tangent(p[0], p[1]), out = Helices::outward(turn);
      OracleState s{
          std::cos(outwards) * t + std::sin(outwards) * out, std::sin(outwards) * t - std::cos(outwards) * out, {}};
      s.n2 = s.t.cross(s.n1);
      sum += oracle.mean_curvature(p, s);
    }
    return sum / kTurns;
  };
  double low = 0, high = 0.5;
  for (int i = 0; i < 20; ++i) (mean_curvature((low + high) / 2) < Helices::kCurvature ? low : high) = (low + high) / 2;
  return low;
}

struct Spiral {
  double drift = 0;  ///< outwards at the end, mean
  double rise = 0;   ///< of a radian, mean
  int whole = 0;     ///< that went all the way
};
Spiral followed_helices(const HostField& f, int count) {
  Spiral out;
  for (int i = 0; i < count; ++i) {
    const Vector3d seed = Helices::point(2 * std::numbers::pi * i / count), t = Helices::tangent(seed[0], seed[1]);
    const auto vec = [](const Vector3d& v) {
      return Vec3{static_cast<float>(v[0]), static_cast<float>(v[1]), static_cast<float>(v[2])};
    };
    const std::vector<Vec3> line = followed<PttStep>(f, static_cast<std::uint64_t>(i), vec(seed), vec(t));
    out.whole += line.size() == f.params.max_points ? 1 : 0;
    const auto from_axis = [](const Vec3& p) { return Vector3d(p.x - Helices::kMiddle, p.y - Helices::kMiddle, 0); };
    double turned = 0;
    for (std::size_t k = 1; k < line.size(); ++k) {
      const Vector3d a = from_axis(line[k - 1]), b = from_axis(line[k]);
      turned += std::atan2(a.cross(b)[2], a.dot(b));
    }
    out.drift += (from_axis(line.back()).norm() - Helices::kRadius) / count;
    out.rise += static_cast<double>(line.back().z - line.front().z) / turned / count;
  }
  return out;
}

// Curvatures are drawn by what the probed arcs meet, so that their mean is the fibre's only where the tangent lags
// behind it: parallel transport spirals outwards.  With amplitudes cos^n, curvatures up to K and probes of length L the
// lag is about 8 kappa / (n L K^2): it takes narrow amplitudes and a small least radius, not long probes, to follow
// closely.
TEST(Helix, IsFollowedAsFarBehindAsTheDrawOfCurvaturesSays) {
  constexpr double kLength = 40;
  double last = 10;
  for (const double min_radius : {0.5, 0.25}) {  // nibrary's, and half of it: cuslines' at 60 degrees
    const HostField f = Helices::field(8, min_radius);
    const Spiral s = followed_helices(f, 64);
    EXPECT_EQ(s.whole, 64);
    // dr/ds is the lag, which falls as 1 / r.
    const double r2 = Helices::kRadius * Helices::kRadius + 2 * kLength * lag(f) * Helices::kRadius;
    const double foretold = std::sqrt(r2) - Helices::kRadius;
    EXPECT_LT(s.drift, 1.15 * foretold) << foretold;
    EXPECT_GT(s.drift, 0.75 * foretold) << foretold;
    EXPECT_NEAR(s.rise, Helices::kRise, 0.2);  // a line's own wanders by 0.35
    EXPECT_LT(s.drift, last / 2);
    last = s.drift;
  }
}

TEST(Helix, IsFollowedCloselyByNarrowAmplitudesAndLeftWhereArcsMayNotBeAsNarrow) {
  const Spiral close = followed_helices(Helices::field(50, 0.25), 64);
  EXPECT_LT(close.drift, 1);
  EXPECT_NEAR(close.rise, Helices::kRise, 0.1);
  const Spiral wide = followed_helices(Helices::field(50, 1.5 / Helices::kCurvature), 64);
  EXPECT_LT(wide.whole, 8);  // they meet no amplitude, or leave the volume
}

}  // namespace
}  // namespace penstock::tracto
