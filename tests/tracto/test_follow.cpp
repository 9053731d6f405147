// Sampling, peaks, steps and the loop, on fields made by hand; every executor of a Team gives the same.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "device/team.hpp"
#include "device/teams.hpp"
#include "tracto/fields.hpp"
#include "tracto/sphere/sphere.hpp"

namespace penstock::tracto {
namespace {

TEST(Sampling, ReproducesALinearRamp) {
  HostField f = hand_field({5, 4, 3}, [](auto, const auto&) { return 0.0; });
  for (std::uint32_t v = 0; v < 60; ++v) {
    const std::uint32_t x = v % 5, y = v / 5 % 4, z = v / 20;
    f.stop[v] = static_cast<float>(2 * x) + static_cast<float>(3 * y) - static_cast<float>(z);
  }
  for (const Vec3 p : {Vec3{1.25f, 2.5f, 0.75f}, Vec3{3.99f, 0, 2}, Vec3{0, 3, 0}})
    EXPECT_NEAR(sample_map(f.stop.data(), corners_of(f.params, p)), 2 * p.x + 3 * p.y - p.z, 1e-5);
  // Beyond the outermost centres the nearest voxel counts, not a blend with its neighbour.
  EXPECT_NEAR(sample_map(f.stop.data(), corners_of(f.params, {-0.4f, 0, 0})), 0, 1e-5);
  EXPECT_NEAR(sample_map(f.stop.data(), corners_of(f.params, {4.4f, 0, 0})), 8, 1e-5);
  EXPECT_TRUE(inside(f.params, {-0.5f, 0, 0}));
  EXPECT_FALSE(inside(f.params, {4.5f, 0, 0}));
  EXPECT_FALSE(inside(f.params, {std::nanf(""), 0, 0}));
}

TEST(Sampling, OneVoxelThickVolumesHaveNoNeighbours) {
  HostField f = hand_field({1, 1, 1}, [](auto, const auto&) { return 1.0; });
  const Corners c = corners_of(f.params, {0.3f, -0.2f, 0.4f});
  for (const std::uint32_t voxel : c.voxel) EXPECT_EQ(voxel, 0u);
  EXPECT_NEAR(sample_map(f.stop.data(), c), 1, 1e-6);
}

TEST(Peaks, OfACrossingAreTwoStrongestFirst) {
  const HostField f =
      hand_field({2, 2, 2}, [](auto, const Direction& v) { return 0.6 * along(v, 1, 0, 0) + 0.9 * along(v, 0, 0, 1); });
  StepScratch<> scratch;
  const Peaks p =
      ProbStep::start(HostTeam<32>(), f.params, f.buffers(), corners_of(f.params, {0.5f, 0.5f, 0.5f}), scratch, {});
  ASSERT_EQ(p.count, 2u);
  EXPECT_GT(absolute(vertex(f.params, f.buffers(), p.direction[0]).z), 0.97f);
  EXPECT_GT(absolute(vertex(f.params, f.buffers(), p.direction[1]).x), 0.97f);
}

TEST(Peaks, OfAPlateauAndOfNothingAreNone) {
  for (const double level : {0.0, 0.5}) {
    const HostField f = hand_field({2, 2, 2}, [&](auto, const Direction&) { return level; });
    StepScratch<> scratch;
    const Peaks p =
        ProbStep::start(HostTeam<32>(), f.params, f.buffers(), corners_of(f.params, {0.5f, 0.5f, 0.5f}), scratch, {});
    EXPECT_EQ(p.count, 0u) << level;
  }
}

// Chi-square of a million draws against the weights, and never a direction outside of the cone.
TEST(ProbStep, DrawsByTheAmplitudesWithinTheCone) {
  const HostField f = hand_field({2, 2, 2}, [](auto, const Direction& v) { return 0.2 + 0.8 * along(v, 1, 0, 0); });
  const Corners c = corners_of(f.params, {0.5f, 0.5f, 0.5f});
  const HostTeam<32> team;
  StepScratch<> scratch;
  std::vector<double> counts(f.params.directions), expected(f.params.directions);
  const Vec3 last = {1, 0, 0};
  constexpr int kDraws = 200000;
  for (int i = 0; i < kDraws; ++i) {
    Vec3 d = last;
    const DrawKey key = {{1, 2}, static_cast<std::uint64_t>(i), 0, 0};
    ASSERT_TRUE(ProbStep::next(team, f.params, f.buffers(), c, scratch, key, 0, {}, d));
    ASSERT_GE(dot(d, last), f.params.cos_max_angle);
    for (std::uint32_t k = 0; k < f.params.directions; ++k)
      if (absolute(dot(vertex(f.params, f.buffers(), k), d)) > 0.9999f) ++counts[k];
  }
  double total = 0, chi = 0, freedom = -1;
  for (std::uint32_t k = 0; k < f.params.directions; ++k) total += scratch.weight[k];
  for (std::uint32_t k = 0; k < f.params.directions; ++k) {
    const double e = static_cast<double>(scratch.weight[k]) * kDraws / total;
    if (e == 0) {
      EXPECT_EQ(counts[k], 0) << k;
      continue;
    }
    chi += (counts[k] - e) * (counts[k] - e) / e;
    freedom += 1;
  }
  EXPECT_LT(chi, freedom + 5 * std::sqrt(2 * freedom));
}

TEST(Choose, NeverTakesWeightZeroAndEndsWhereAllAreZero) {
  const HostTeam<32> team;
  std::uint32_t weight[100] = {};
  EXPECT_EQ(choose(team, weight, 100, 0xffffffffu), 100u);
  weight[37] = 5;
  weight[99] = 1;
  EXPECT_EQ(choose(team, weight, 100, 0), 37u);
  EXPECT_EQ(choose(team, weight, 100, 0xffffffffu), 99u);
}

constexpr Vec3 kSeed = {3.2f, 5.1f, 2.9f};
constexpr DrawKey kKey = {{7, 0}, 42, 0, 0}, kBegin = {{7, 0}, 42, 0, kBeginHalf};

template <class Step, class Team>
Followed follow_with(const Team& team, const HostField& f, std::vector<Vec3>& slot) {
  typename Step::template ScratchOf<kMaxAmplitudes> scratch;
  const Corners c = corners_of(f.params, kSeed);
  slot.assign(f.params.max_points, {});
  const Peaks p = Step::start(team, f.params, f.buffers(), c, scratch, kBegin);
  return follow<Step>(team, f.params, f.buffers(), scratch, kKey, kSeed, c,
                      vertex(f.params, f.buffers(), p.direction[0]), slot.data());
}

/// A field that the step samples.
template <class Step>
HostField field_of() {
  TrackOptions how;
  how.sphere = 100;
  how.max_length_mm = 40;
  how.substeps = 3;
  if (std::is_same_v<Step, BootStep>) how.method = TrackMethod::boot;
  if (std::is_same_v<Step, PttStep>) how.method = TrackMethod::ptt;
  return how.method == TrackMethod::prob ? waves() : phantom_field(PhantomData(), how);
}

template <class Step>
class EveryStep : public ::testing::Test {};
using AllSteps = ::testing::Types<ProbStep, DetStep, ClosestStep, BootStep, PttStep>;
TYPED_TEST_SUITE(EveryStep, AllSteps);

TYPED_TEST(EveryStep, GivesTheSameBitsOnEveryExecutor) {
  const HostField f = field_of<TypeParam>();
  std::vector<Vec3> want, got;
  const Followed a = follow_with<TypeParam>(HostTeam<32>(), f, want);
  EXPECT_GT(a.forward + a.backward, 5u);
  for (const std::uint32_t order : {1u, 2u, 3u, 17u}) {
    const Followed b = follow_with<TypeParam>(PermTeam<32>(order), f, got);
    EXPECT_EQ(a.forward, b.forward);
    EXPECT_EQ(a.backward, b.backward);
    EXPECT_EQ(std::memcmp(want.data(), got.data(), want.size() * sizeof(Vec3)), 0) << order;
  }
}

TYPED_TEST(EveryStep, KeepsFibresTogether) {
  const HostField f = field_of<TypeParam>();
  std::vector<Vec3> want, slot(f.params.max_points);
  const Followed a = follow_with<TypeParam>(HostTeam<32>(), f, want);
  const auto warp = std::make_unique<FiberWarp<32>>();
  typename TypeParam::template ScratchOf<kMaxAmplitudes> scratch;
  Followed b = {};
  const std::string problem = warp->run([&](auto& fibre) {
    const FiberTeam<32> team(fibre);
    const Corners c = corners_of(f.params, kSeed);
    const Peaks p = TypeParam::start(team, f.params, f.buffers(), c, scratch, kBegin);
    const Followed mine = follow<TypeParam>(team, f.params, f.buffers(), scratch, kKey, kSeed, c,
                                            vertex(f.params, f.buffers(), p.direction[0]), slot.data());
    if (fibre.lane() == 0) b = mine;
  });
  EXPECT_EQ(problem, "");
  EXPECT_EQ(a.forward, b.forward);
  EXPECT_EQ(a.backward, b.backward);
  EXPECT_EQ(std::memcmp(want.data(), slot.data(), want.size() * sizeof(Vec3)), 0);
}

TEST(DetStep, TakesTheStrongestWithinTheAngle) {
  const HostField f =
      hand_field({2, 2, 2}, [](auto, const Direction& v) { return 0.5 * along(v, 1, 0, 0) + 0.9 * along(v, 0, 0, 1); });
  const Corners c = corners_of(f.params, {0.5f, 0.5f, 0.5f});
  StepScratch<> scratch;
  Vec3 last = {-1, 0, 0};
  HostField narrow = f;
  narrow.params.cos_max_angle = 0.7f;
  ASSERT_TRUE(DetStep::next(HostTeam<32>(), narrow.params, f.buffers(), c, scratch, {}, 0, {}, last));
  EXPECT_LT(last.x, -0.97f);
  narrow.params.cos_max_angle = 0;
  ASSERT_TRUE(DetStep::next(HostTeam<32>(), narrow.params, f.buffers(), c, scratch, {}, 0, {}, last));
  EXPECT_GT(absolute(last.z), 0.97f);
}

TEST(ClosestStep, TakesTheClosestPeakOrNone) {
  const HostField f =
      hand_field({2, 2, 2}, [](auto, const Direction& v) { return 0.5 * along(v, 1, 0, 0) + 0.9 * along(v, 0, 0, 1); });
  const Corners c = corners_of(f.params, {0.5f, 0.5f, 0.5f});
  StepScratch<> scratch;
  Vec3 last = {0.8f, 0, 0.6f};
  ASSERT_TRUE(ClosestStep::next(HostTeam<32>(), f.params, f.buffers(), c, scratch, {}, 0, {}, last));
  EXPECT_GT(last.x, 0.97f);
  last = {0, 1, 0};
  EXPECT_FALSE(ClosestStep::next(HostTeam<32>(), f.params, f.buffers(), c, scratch, {}, 0, {}, last));
}

TEST(Follow, AStraightFieldGivesAStraightLineToTheBorder) {
  HostField f = hand_field({9, 3, 3}, [](auto, const Direction&) { return 0.0; });
  f.vertices[0] = 1;  // direction 0 is x; it alone has an amplitude
  f.vertices[128] = f.vertices[256] = 0;
  for (std::uint32_t v = 0; v < 81; ++v) f.pmf[v * 128] = 65535;
  StepScratch<> scratch;
  const Vec3 seed = {4, 1.2f, 0.9f};
  const Corners c = corners_of(f.params, seed);
  std::vector<Vec3> slot(f.params.max_points);
  const Followed line = follow<ProbStep>(HostTeam<32>(), f.params, f.buffers(), scratch, DrawKey{{0, 0}, 0, 0, 0}, seed,
                                         c, Vec3{1, 0, 0}, slot.data());
  EXPECT_EQ(line.forward, 9u);   // 4, 4.5, ... 8
  EXPECT_EQ(line.backward, 9u);  // 3.5, ... -0.5
  EXPECT_EQ(line.reason[0], static_cast<std::uint8_t>(EndReason::outside));
  for (std::uint32_t i = 0; i < 18; ++i) {
    const Vec3 p = world_point(f.params, line, slot.data(), i);
    EXPECT_NEAR(p.x, -0.5 + 0.5 * i, 1e-5);
    EXPECT_NEAR(p.y, 1.2, 1e-4);
    EXPECT_NEAR(p.z, 0.9, 1e-4);
  }
}

// The point at which the map has fallen is not kept, and the fall is found where it is: no half voxel aside.
TEST(Follow, EndsBeforeTheMapFalls) {
  HostField f = hand_field({9, 1, 1}, [](auto, const Direction&) { return 0.0; });
  f.vertices[0] = 1;
  f.vertices[128] = f.vertices[256] = 0;
  for (std::uint32_t v = 0; v < 9; ++v) {
    f.pmf[v * 128] = 65535;
    f.stop[v] = v <= 5 ? 1.0f : 0.0f;
  }
  f.params.stop_below = 0.5f;
  f.params.step_voxel[0] = 0.01f;
  f.params.max_points = 1000;
  StepScratch<> scratch;
  const Vec3 seed = {4, 0, 0};
  std::vector<Vec3> slot(f.params.max_points);
  const Followed line = follow<ProbStep>(HostTeam<32>(), f.params, f.buffers(), scratch, DrawKey{{0, 0}, 0, 0, 0}, seed,
                                         corners_of(f.params, seed), Vec3{1, 0, 0}, slot.data());
  EXPECT_EQ(line.reason[1], static_cast<std::uint8_t>(EndReason::stop_map));
  EXPECT_NEAR(slot[line.forward - 1].x, 5.5, 0.011);
}

}  // namespace
}  // namespace penstock::tracto
