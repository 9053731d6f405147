// Faults that other trackers have or had, by number, and what is asked here instead.  Those of cuslines (b1a7812) that
// are not here are in test_track.cpp (1, 8: chunks; 14: bytes), test_follow.cpp (3, 7, 9) and test_parts.cpp (11).
#include <gtest/gtest.h>

#include <set>

#include "device/team.hpp"
#include "tracto/fields.hpp"

namespace penstock::tracto {
namespace {

constexpr TrackMethod kAll[] = {TrackMethod::prob, TrackMethod::det, TrackMethod::closest, TrackMethod::boot,
                                TrackMethod::ptt};

TrackOptions quick(TrackMethod method) {
  TrackOptions how;
  how.method = method;
  how.sphere = 181;
  how.seeds = 1;
  how.substeps = 4;
  how.max_length_mm = 60;
  how.min_length_mm = 0;
  return how;
}

testing::Phantom noisy(double noise) {
  testing::Phantom p = testing::crossing_phantom();
  p.noise = noise;
  return p;
}

bool equal(const Vec3& a, const Vec3& b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

// 2: neighbours overwrote each other's directions.  5: chunks repeated their random numbers.
TEST(Defect2And5, ASeedGivesTheSameAloneAndInAnyChunk) {
  const PhantomData data(noisy(30));
  for (const TrackMethod method : kAll) {
    const HostField field = phantom_field(data, quick(method));
    const Streamlines all = tracked(field, 0, 40);
    Streamlines parts;
    for (std::uint64_t first = 0; first < 40; first += 7)
      parts.append(tracked(field, first, std::min<std::uint64_t>(7, 40 - first)));
    EXPECT_EQ(all.seeds, parts.seeds);
    ASSERT_EQ(all.points.size(), parts.points.size());
    EXPECT_TRUE(std::equal(all.points.begin(), all.points.end(), parts.points.begin(), equal));
  }
}

// 5: numbers of different seeds, peaks, halves, steps and draws are different.
TEST(Defect5, NoTwoDrawsShareACounter) {
  std::set<std::array<std::uint32_t, 4>> seen;
  for (std::uint64_t seed : {0ull, 1ull, 25000ull, 1ull << 40})
    for (std::uint32_t peak : {0u, 1u})
      for (std::uint32_t half : {0u, 1u, kSeedHalf, kBeginHalf})
        for (std::uint32_t step : {0u, 1u})
          for (std::uint32_t number : {0u, 1u}) {
            const Philox p = draw({{0, 0}, seed, peak, half}, step, number);
            EXPECT_TRUE(seen.insert({p.word[0], p.word[1], p.word[2], p.word[3]}).second);
          }
}

// 3: the amplitudes of parallel transport were read half a voxel aside.
TEST(Defect3, TransportReadsAmplitudesAtThePoint) {
  HostField f = phantom_field(PhantomData(), quick(TrackMethod::ptt));
  f.row.assign(f.row.size(), 0);
  for (std::size_t i = 0; i < f.row.size(); ++i) f.row[i] = static_cast<std::int32_t>(i);
  f.pmf.assign(f.row.size() * f.params.stride, 0);
  for (std::size_t v = 0; v < f.row.size(); ++v)
    for (std::uint32_t i = 0; i < f.params.stride; ++i)
      f.pmf[v * f.params.stride + i] = static_cast<std::uint16_t>(1000 * (v % f.params.dims[0]));
  for (const float x : {0.0f, 0.25f, 3.5f, 10.9f})
    EXPECT_NEAR(amplitude_along(f.params, f.buffers(), {x, 4.3f, 2.1f}, {0, 0, 1}) * 65535, 1000 * x, 0.1) << x;
  EXPECT_EQ(amplitude_along(f.params, f.buffers(), {-0.6f, 4, 2}, {0, 0, 1}), 0);
}

// 4: which attempt of the bootstrap decides.  Those that go on until one is within the angle give longer streamlines.
TEST(Defect4, AttemptsFollowTheRuleThatIsAskedFor) {
  const PhantomData data(noisy(220));
  double points[2] = {};
  for (const bool retry : {false, true}) {
    TrackOptions how = quick(TrackMethod::boot);
    how.boot_retry = retry;
    how.stop_below = 0.15;
    const Streamlines s = tracked(phantom_field(data, how), 0, 200);
    points[retry ? 1 : 0] = static_cast<double>(s.points.size()) / static_cast<double>(s.lengths.size());
  }
  EXPECT_GT(points[1], 1.05 * points[0]);
}

// 4a: the frame at the far end of the probe was taken for that at the seed.  4b: a normal was not set.
TEST(Defect4aAnd4b, TransportSetsOutAtTheSeedWithAWholeFrame) {
  const HostField f = phantom_field(PhantomData(noisy(20)), quick(TrackMethod::ptt));
  PttScratch<kMaxAmplitudes> scratch;
  const HostTeam<32> team;
  for (std::uint64_t number = 0; number < 50; ++number) {
    const Vec3 seed = seed_point(f.seed_params, f.seed_list.data(), number);
    const Peaks peaks = PttStep::start(team, f.params, f.buffers(), corners_of(f.params, seed), scratch, DrawKey{});
    if (peaks.count == 0) continue;
    const Vec3 along = vertex(f.params, f.buffers(), peaks.direction[0]);
    PttStep::Heading h = {};
    if (!PttStep::begin(team, f.params, f.buffers(), scratch, {{0, 0}, number, 0, 0}, seed, along, h)) continue;
    EXPECT_NEAR(absolute(dot(h.frame.t, along)), 1, 1e-6);
    for (const PttStep::Heading& half : {h, PttStep::turned(h)}) {
      const Frame& a = half.frame;
      EXPECT_NEAR(dot(a.t, a.t), 1, 1e-5);
      EXPECT_NEAR(dot(a.n1, a.n1), 1, 1e-5);
      const Vec3 third = cross(a.t, a.n1);
      EXPECT_NEAR(dot(third, a.n2), 1, 1e-5);
    }
    EXPECT_NEAR(dot(PttStep::turned(h).frame.t, h.frame.t), -1, 1e-5);
  }
}

// 6: a full sphere began each fibre twice, once along each antipode.
TEST(Defect6, AStraightFibreIsOneStreamlineASeed) {
  testing::Phantom p = testing::crossing_phantom();
  p.fibres = [](int, int y, int) {
    return y >= 3 && y <= 8 ? std::vector<testing::Point3>{{1, 0, 0}} : std::vector<testing::Point3>{};
  };
  TrackOptions how = quick(TrackMethod::det);
  how.stop_below = 0.3;
  const Streamlines s = tracked(phantom_field(PhantomData(p), how), 0, 100);
  EXPECT_EQ(std::set<std::uint64_t>(s.seeds.begin(), s.seeds.end()).size(), s.seeds.size());
  EXPECT_GT(s.seeds.size(), 80u);
}

// 10: 32 peaks and more were left unsorted.  12: arrays of a fixed size were overrun by large spheres.
TEST(Defect10And12, ManyPeaksOfTheLargestSphereAreSortedAndBounded) {
  for (const TrackMethod method : kAll) {
    TrackOptions how = quick(method);
    how.sphere = 1024;
    how.separation_deg = 0;
    how.relative_peak = 0;
    how.pmf_threshold = 0;
    const HostField field = phantom_field(PhantomData(noisy(150)), how);
    EXPECT_GT(tracked(field, 0, 3).lengths.size(), 0u);
    if (method != TrackMethod::prob) continue;
    StepScratch<> scratch;
    for (std::uint32_t i = 0; i < 1024; ++i) scratch.amplitude[i] = unit_float(draw({}, i, 0).word[0]);
    const Peaks peaks = find_peaks(HostTeam<32>(), field.params, field.buffers(), scratch.amplitude, scratch.weight);
    ASSERT_EQ(peaks.count, kMaxPeaks);
    for (std::uint32_t i = 1; i < peaks.count; ++i)
      EXPECT_GE(scratch.amplitude[peaks.direction[i - 1]], scratch.amplitude[peaks.direction[i]]);
  }
}

// 13: steps and curvatures were of voxels, as if all were cubes.  The same fibres in slabs of half the height.
TEST(Defect13, ThinVoxelsGiveTheSameMillimetres) {
  for (const TrackMethod method : {TrackMethod::det, TrackMethod::ptt}) {
    double length[2] = {};
    for (const int thin : {0, 1}) {
      testing::Phantom p;
      p.dims = {16, 6, thin != 0 ? 32 : 16};
      p.world_from_voxel = {2, 0, 0, 0, 0, 2, 0, 0, 0, 0, thin != 0 ? 1.0 : 2.0, 0};
      const double s = std::sqrt(0.5);
      p.fibres = [s](int, int, int) { return std::vector<testing::Point3>{{s, 0, s}}; };
      TrackOptions how = quick(method);
      how.step_mm = 1;
      how.sphere = 724;
      how.max_angle_deg = 20;
      const HostField field = phantom_field(PhantomData(p), how);
      const Streamlines all = tracked(field, 0, 60);
      std::size_t at = 0;
      for (const std::uint32_t n : all.lengths) {
        for (std::size_t i = at + 1; i < at + n; ++i) {
          const Vec3 step = sum(all.points[i], negated(all.points[i - 1]));
          EXPECT_NEAR(std::sqrt(dot(step, step)), 1, method == TrackMethod::det ? 1e-3 : 2e-2);
          EXPECT_GT(absolute(step.x * static_cast<float>(s) + step.z * static_cast<float>(s)),
                    method == TrackMethod::det ? 0.98f : 0.8f);
        }
        at += n;
        length[thin] += n;
      }
      length[thin] /= static_cast<double>(all.lengths.size());
    }
    EXPECT_NEAR(length[0] / length[1], 1, 0.15);
  }
}

// 15: streamlines of one point were saved.
TEST(Defect15, ShortStreamlinesAreLeftOutAndCounted) {
  TrackOptions how = quick(TrackMethod::prob);
  how.min_length_mm = 20;
  const Streamlines s = tracked(phantom_field(PhantomData(noisy(30)), how), 0, 200);
  for (const std::uint32_t n : s.lengths) EXPECT_GE(n, 21u);
  EXPECT_GT(s.too_short, 0u);
}

// DIPY's fast parallel transport moves each half by a step along its first direction before it begins, and mixes
// millimetres with voxels.
TEST(DipyDefect, TransportBeginsAtTheSeedAndKeepsItsCurvature) {
  TrackOptions how = quick(TrackMethod::ptt);
  how.min_radius_mm = 2;
  const HostField field = phantom_field(PhantomData(noisy(30)), how);
  const Streamlines all = tracked(field, 0, 60);
  ASSERT_GT(all.lengths.size(), 20u);
  // Over a step the tangent turns by step / radius at most, and so does the chord between two steps, twice that.
  const double most = 2 * field.step_mm / *how.min_radius_mm;
  std::size_t at = 0;
  for (std::size_t l = 0; l < all.lengths.size(); at += all.lengths[l++]) {
    bool has_seed = false;
    for (std::size_t i = at; i < at + all.lengths[l]; ++i) {
      has_seed = has_seed || equal(all.points[i], all.seed_points[l]);
      if (i < at + 2) continue;
      const Vec3 a = normalized(sum(all.points[i], negated(all.points[i - 1]))),
                 b = normalized(sum(all.points[i - 1], negated(all.points[i - 2])));
      EXPECT_LE(std::acos(std::min(1.0, static_cast<double>(dot(a, b)))), most);
    }
    EXPECT_TRUE(has_seed);
  }
}

}  // namespace
}  // namespace penstock::tracto
