// Fields whose streamlines are known beforehand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "tracto/fields.hpp"

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
  StepScratch<> scratch;
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

}  // namespace
}  // namespace penstock::tracto
