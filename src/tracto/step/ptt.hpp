// Parallel transport tractography (Aydogan and Shi 2021): short arcs whose curvature is drawn by the amplitudes that a
// longer arc of that curvature meets.  Points are kept every `substeps` of them.
#pragma once
#include "tracto/field/nearest.hpp"
#include "tracto/step/amplitudes.hpp"
#include "tracto/step/disc.hpp"
#include "tracto/step/frame.hpp"

namespace penstock::tracto {

inline constexpr std::uint32_t kPttRounds = 32;  // each of as many tries as a team has lanes, 32

/// Amplitude at a point along a direction, as part of its voxel's largest; 0 outside.
PENSTOCK_HD float amplitude_along(const TrackParams& t, const TrackBuffers& in, const Vec3& p, const Vec3& direction) {
  if (!inside(t, p)) return 0;
  const Corners c = corners_of(t, p);
  const std::uint16_t* const column = in.pmf + in.nearest[cell_of(direction)];
  float sum = 0;
  for (int k = 0; k < 8; ++k) {
    const std::int32_t row = in.row[c.voxel[k]];
    const std::uint16_t a = column[static_cast<std::uint64_t>(row < 0 ? 0 : row) * t.stride];
    sum += row < 0 ? 0 : c.part[k] * static_cast<float>(a);
  }
  return sum * (1.0f / 65535);
}

PENSTOCK_HD Vec3 moved_mm(const TrackParams& t, const Vec3& p, const Vec3& mm) {
  return {p.x + mm.x * t.probe.voxel_per_mm[0], p.y + mm.y * t.probe.voxel_per_mm[1],
          p.z + mm.z * t.probe.voxel_per_mm[2]};
}

/// What the probes of one point of an arc meet, added.
PENSTOCK_HD float probe(const TrackParams& t, const TrackBuffers& in, const Vec3& p, const Frame& f) {
  if (t.probe.count <= 1) return amplitude_along(t, in, p, f.t);
  float sum = 0;
  for (std::uint32_t i = 0; i < t.probe.count; ++i) {
    const SinCos turn = sin_cos(6.28318531f * static_cast<float>(i) / static_cast<float>(t.probe.count));
    const Vec3 aside = {0, t.probe.radius_mm * turn.cosine, t.probe.radius_mm * turn.sine};
    sum += amplitude_along(t, in, moved_mm(t, p, of_frame(f, aside)), f.t);
  }
  return sum;
}

/// Mean amplitude along the arc of these curvatures that begins with `f`; 0 where it is below the threshold.
PENSTOCK_HD_CALLED float support(const TrackParams& t, const TrackBuffers& in, Vec3 p, Frame f, float k1, float k2) {
  const Arc arc = arc_of(k1, k2, t.probe.step_mm);
  float sum = probe(t, in, p, f);
  for (std::uint32_t i = 1; i < t.probe.quality; ++i) {
    p = moved_mm(t, p, move_along(f, arc));
    sum += probe(t, in, p, f);
  }
  const float mean = sum / static_cast<float>(t.probe.quality * (t.probe.count > 1 ? t.probe.count : 1));
  return mean >= t.pmf_threshold && mean > 0 ? mean : 0;
}

template <std::uint32_t N>
struct PttScratch : StepScratch<N> {
  float support[32];
  std::uint32_t up_to[32];  ///< sums of the triangles' weights
  float k1[32], k2[32];     ///< of each lane's try
};

struct PttStep {
  struct Heading {
    Frame frame;
    Vec3 moved;  ///< unit
  };
  template <std::uint32_t N>
  using ScratchOf = PttScratch<N>;

  template <class Team, class Scratch>
  PENSTOCK_HD static Peaks start(const Team& team, const TrackParams& t, const TrackBuffers& in, const Corners& c,
                                 Scratch& scratch, const DrawKey&) {
    return peaks_above(team, t, in, c, scratch);
  }

  /// The frame at the seed itself: of many turned at random about `direction`, and each with a curvature, that of the
  /// best supported arc.  Where no arc is supported the other way is tried.
  template <class Team, class Scratch>
  PENSTOCK_HD static bool begin(const Team& team, const TrackParams& t, const TrackBuffers& in, Scratch& scratch,
                                const DrawKey& key, const Vec3& point, const Vec3& direction, Heading& heading) {
    return begin_along(team, t, in, scratch, key, 0, point, direction, heading) ||
           begin_along(team, t, in, scratch, key, 1, point, negated(direction), heading);
  }

  /// Half a turn about the second normal.
  PENSTOCK_HD static Heading turned(const Heading& h) {
    return {{negated(h.frame.t), negated(h.frame.n1), h.frame.n2}, negated(h.moved)};
  }
  PENSTOCK_HD static Vec3 displacement(const Heading& heading) { return heading.moved; }

  template <class Team, class Scratch>
  PENSTOCK_HD static bool next(const Team& team, const TrackParams& t, const TrackBuffers& in, const Corners&,
                               Scratch& scratch, const DrawKey& key, std::uint32_t step, const Vec3& point,
                               Heading& heading) {
    const std::uint32_t total = weigh(team, t, in, scratch, point, heading.frame);
    if (total == 0) return false;
    for (std::uint32_t round = 0; round < kPttRounds; ++round) {
      const std::uint32_t lane = try_lanes(team, [&](std::uint32_t l) {
        pick(in, scratch.up_to, total, draw(key, step, round * 32 + l), scratch.k1[l], scratch.k2[l]);
        scratch.k1[l] *= t.probe.max_curvature;
        scratch.k2[l] *= t.probe.max_curvature;
        return support(t, in, point, heading.frame, scratch.k1[l], scratch.k2[l]) > 0;
      });
      if (lane == 32) continue;
      const float length = t.step_voxel[0] / t.probe.voxel_per_mm[0];
      heading.moved = normalized(move_along(heading.frame, arc_of(scratch.k1[lane], scratch.k2[lane], length)));
      return true;
    }
    return false;
  }

 private:
  /// The first lane whose try succeeds; 32: none.  What tries write for their lane stays.
  template <class Team, class Try>
  PENSTOCK_HD static std::uint32_t try_lanes(const Team& team, const Try& attempt) {
    static_assert(Team::lanes == 32);
    if constexpr (std::is_same_v<Team, HostTeam<32>>) {  // lanes after the first success are not looked at
      for (std::uint32_t lane = 0; lane < 32; ++lane)
        if (attempt(lane)) return lane;
      return 32;
    } else {
      return team.first(team.map(attempt));
    }
  }

  /// Supports of the disc's points as weights of its triangles: of its area times the mean of its corners, 0 where one
  /// of them has none.  Uniform: their sum.
  template <class Team, class Scratch>
  PENSTOCK_HD static std::uint32_t weigh(const Team& team, const TrackParams& t, const TrackBuffers& in,
                                         Scratch& scratch, const Vec3& point, const Frame& frame) {
    const float k = t.probe.max_curvature;
    team.for_each(kDiscPoints, [&](std::uint32_t i) {
      scratch.support[i] = support(t, in, point, frame, k * in.disc[i], k * in.disc[kDiscPoints + i]);
    });
    auto weight = team.map([&](std::uint32_t lane) {
      if (lane >= kDiscTriangles) return 0u;
      const std::uint16_t* corner = in.triangle + 3 * lane;
      const float a = scratch.support[corner[0]], b = scratch.support[corner[1]], c = scratch.support[corner[2]];
      if (!(a > 0) || !(b > 0) || !(c > 0)) return 0u;
      return static_cast<std::uint32_t>((a + b + c) * in.disc[2 * kDiscPoints + lane] * 16777216.0f);
    });
    auto up_to = team.inclusive_sum(weight);
    team.each_lane([&](std::uint32_t lane) { scratch.up_to[lane] = team.at(up_to, lane); });
    return scratch.up_to[31];
  }

  /// A triangle by its weight, and in it a point, each as likely.
  PENSTOCK_HD static void pick(const TrackBuffers& in, const std::uint32_t* up_to, std::uint32_t total,
                               const Philox& random, float& k1, float& k2) {
    const std::uint32_t target = mul_high(random.word[0], total);
    std::uint32_t chosen = 0;
    while (up_to[chosen] <= target) ++chosen;
    float u = unit_float(random.word[1]), v = unit_float(random.word[2]);
    if (u + v > 1) {
      u = 1 - u;
      v = 1 - v;
    }
    const std::uint16_t* corner = in.triangle + 3 * chosen;
    const float *x = in.disc, *y = in.disc + kDiscPoints, w = 1 - u - v;
    k1 = w * x[corner[0]] + u * x[corner[1]] + v * x[corner[2]];
    k2 = w * y[corner[0]] + u * y[corner[1]] + v * y[corner[2]];
  }

  template <class Team, class Scratch>
  PENSTOCK_HD static bool begin_along(const Team& team, const TrackParams& t, const TrackBuffers& in, Scratch& scratch,
                                      const DrawKey& key, std::uint32_t way, const Vec3& point, const Vec3& direction,
                                      Heading& heading) {
    const DrawKey begin_key = {{key.random_seed[0], key.random_seed[1]}, key.seed_number, key.peak, kBeginHalf};
    for (std::uint32_t round = 0; round < kPttRounds; ++round) {
      team.each_lane([&](std::uint32_t lane) {
        const Philox random = draw(begin_key, way, round * 32 + lane);
        const float angle = 6.28318531f * unit_float(random.word[0]);
        const SinCos to = sin_cos(6.28318531f * unit_float(random.word[1]));
        const float k = t.probe.max_curvature * std::sqrt(unit_float(random.word[2]));
        scratch.k1[lane] = angle;
        scratch.support[lane] = support(t, in, point, frame_about(direction, angle), k * to.cosine, k * to.sine);
      });
      const float best = team_largest(team, scratch.support, 32);
      if (!(best > 0)) continue;
      heading.frame = frame_about(direction, scratch.k1[lowest_equal(team, scratch.support, 32, best)]);
      heading.moved = direction;
      return true;
    }
    return false;
  }
};

}  // namespace penstock::tracto
