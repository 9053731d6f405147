// Parallel transport tractography (Aydogan and Shi 2021): short arcs whose curvature is drawn by the amplitudes that a
// longer arc of that curvature meets.  Points are kept every `substeps` of them.
#pragma once
#include "tracto/field/nearest.hpp"
#include "tracto/step/amplitudes.hpp"
#include "tracto/step/disc.hpp"
#include "tracto/step/frame.hpp"

namespace penstock::tracto {

inline constexpr std::uint32_t kPttTries = 1024;
inline constexpr std::uint32_t kPttRounds = kPttTries / 32;  // of a begin, each of a try for each lane

/// Amplitude at a point along a direction of any length, as part of its voxel's largest; 0 outside.
PENSTOCK_HD float amplitude_along(const TrackParams& t, const TrackBuffers& in, const Vec3& p, const Vec3& direction) {
  if (!inside(t, p)) return 0;
  const Corners c = corners_of(t, p);
  const std::uint16_t* const column = in.pmf + in.nearest[cell_of(direction)];
  std::int32_t row[8];
  PENSTOCK_UNROLL
  for (int k = 0; k < 8; ++k) row[k] = in.row[c.voxel[k]];
  float sum = 0;
  PENSTOCK_UNROLL
  for (int k = 0; k < 8; ++k) {
    const std::uint16_t a = column[static_cast<std::uint64_t>(row[k] < 0 ? 0 : row[k]) * t.stride];
    sum += row[k] < 0 ? 0 : c.part[k] * static_cast<float>(a);
  }
  return sum * (1.0f / 65535);
}

PENSTOCK_HD Vec3 moved_mm(const TrackParams& t, const Vec3& p, const Vec3& mm) {
  return {p.x + mm.x * t.probe.voxel_per_mm[0], p.y + mm.y * t.probe.voxel_per_mm[1],
          p.z + mm.z * t.probe.voxel_per_mm[2]};
}

/// What one probe meets: of those about point `i` of an arc that begins at `p` with `f` number `side`.
PENSTOCK_HD float probe(const TrackParams& t, const TrackBuffers& in, const Vec3& p, const Frame& f, const Curve& curve,
                        std::uint32_t i, std::uint32_t side) {
  const Arc arc = arc_along(curve, static_cast<float>(i) * t.probe.step_mm);
  const Vec3 tangent = of_frame(f, arc.t);
  Vec3 moved = of_frame(f, arc.moved);
  if (t.probe.count > 1) {
    const Vec3 n2 = of_frame(f, arc.n2), n1 = cross(n2, tangent);
    const SinCos turn = sin_cos(6.28318531f * static_cast<float>(side) / static_cast<float>(t.probe.count));
    moved = sum(moved, sum(scaled(n1, t.probe.radius_mm * turn.cosine), scaled(n2, t.probe.radius_mm * turn.sine)));
  }
  return amplitude_along(t, in, moved_mm(t, p, moved), tangent);
}

PENSTOCK_HD std::uint32_t probes_about(const TrackParams& t) { return t.probe.count > 1 ? t.probe.count : 1; }

/// What the probes of the first point of every arc meet, added.
PENSTOCK_HD float first_probes(const TrackParams& t, const TrackBuffers& in, const Vec3& p, const Frame& f) {
  float sum = 0;
  PENSTOCK_NO_UNROLL
  for (std::uint32_t side = 0; side < probes_about(t); ++side) sum += probe(t, in, p, f, Curve{0, 0, 0, 0}, 0, side);
  return sum;
}

/// Mean of what all probes of an arc meet, by their sum; 0 where it is below the threshold.
PENSTOCK_HD float support_of(const TrackParams& t, float sum) {
  const float mean = sum / static_cast<float>(t.probe.quality * probes_about(t));
  return mean >= t.pmf_threshold && mean > 0 ? mean : 0;
}

/// Of one arc.
PENSTOCK_HD float support(const TrackParams& t, const TrackBuffers& in, const Vec3& p, const Frame& f,
                          const Curve& curve) {
  float sum = first_probes(t, in, p, f);
  PENSTOCK_NO_UNROLL
  for (std::uint32_t i = 1; i < t.probe.quality; ++i)
    for (std::uint32_t side = 0; side < probes_about(t); ++side) sum += probe(t, in, p, f, curve, i, side);
  return support_of(t, sum);
}

template <std::uint32_t N>
struct PttScratch : StepScratch<N> {
  static constexpr std::uint32_t kProbes = N;  ///< that `amplitude` has room for
  float support[32];
  std::uint32_t up_to[32];  ///< sums of the triangles' weights
  Curve disc[kDiscPoints];
  Curve tried[32];
  float angle[32];
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
    PENSTOCK_NO_UNROLL
    for (std::uint32_t way = 0; way < 2; ++way)
      if (begin_along(team, t, in, scratch, key, way, point, way == 0 ? direction : negated(direction), heading))
        return true;
    return false;
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
    const float here = first_probes(t, in, point, heading.frame);
    const std::uint32_t total = weigh(team, t, in, scratch, point, heading.frame, here);
    if (total == 0) return false;
    const std::uint32_t at_once = tries_at_once<Team>(t);
    for (std::uint32_t first = 0; first < kPttTries; first += at_once) {
      const std::uint32_t tries = at_once < kPttTries - first ? at_once : kPttTries - first;
      team.for_each(tries, [&](std::uint32_t i) {
        scratch.tried[i] = pick(t, in, scratch.up_to, total, draw(key, step, first + i));
      });
      add_probes(team, t, in, scratch, point, heading.frame, here, scratch.tried, tries);
      auto good =
          team.map([&](std::uint32_t lane) { return lane < tries && support_of(t, scratch.support[lane]) > 0; });
      const std::uint32_t chosen = team.first(good);
      if (chosen == Team::lanes) continue;
      const float length = t.step_voxel[0] / t.probe.voxel_per_mm[0];
      heading.moved = normalized(move_along(heading.frame, arc_along(scratch.tried[chosen], length)));
      return true;
    }
    return false;
  }

 private:
  /// Tries whose probes are looked at together: as many as give each lane one.  The first that succeeds counts, so that
  /// their number changes nothing.
  template <class Team>
  PENSTOCK_HD static std::uint32_t tries_at_once(const TrackParams& t) {
    if constexpr (std::is_same_v<Team, HostTeam<static_cast<int>(Team::lanes)>>) return 1;
    const std::uint32_t each = (t.probe.quality - 1) * probes_about(t);
    return each < Team::lanes ? Team::lanes / each : 1;
  }

  /// Into scratch.support: `here` and what the probes of each of `n` arcs meet behind it, added in their order.
  /// A lane takes probes, whatever their arc; as many at a time as there is room for.
  template <class Team, class Scratch>
  PENSTOCK_HD static void add_probes(const Team& team, const TrackParams& t, const TrackBuffers& in, Scratch& scratch,
                                     const Vec3& point, const Frame& frame, float here, const Curve* curves,
                                     std::uint32_t n) {
    const std::uint32_t about = probes_about(t), each = (t.probe.quality - 1) * about, all = n * each;
    for (std::uint32_t begin = 0; begin < all; begin += Scratch::kProbes) {
      const std::uint32_t end = all - begin < Scratch::kProbes ? all : begin + Scratch::kProbes;
      team.for_each(end - begin, [&](std::uint32_t i) {
        const std::uint32_t arc = (begin + i) / each, number = begin + i - arc * each;
        const std::uint32_t along = about == 1 ? number : number / about;
        scratch.amplitude[i] = probe(t, in, point, frame, curves[arc], 1 + along, number - along * about);
      });
      team.for_each(n, [&](std::uint32_t arc) {
        const std::uint32_t first = arc * each > begin ? arc * each : begin;
        const std::uint32_t last = (arc + 1) * each < end ? (arc + 1) * each : end;
        float sum = begin == 0 ? here : scratch.support[arc];
        for (std::uint32_t i = first; i < last; ++i) sum += scratch.amplitude[i - begin];
        scratch.support[arc] = sum;
      });
    }
  }

  /// Supports of the disc's points as weights of its triangles: of its area times the mean of its corners, 0 where one
  /// of them has none.  Uniform: their sum.
  template <class Team, class Scratch>
  PENSTOCK_HD static std::uint32_t weigh(const Team& team, const TrackParams& t, const TrackBuffers& in,
                                         Scratch& scratch, const Vec3& point, const Frame& frame, float here) {
    const float k = t.probe.max_curvature;
    team.for_each(kDiscPoints,
                  [&](std::uint32_t i) { scratch.disc[i] = curve_of(k * in.disc[i], k * in.disc[kDiscPoints + i]); });
    add_probes(team, t, in, scratch, point, frame, here, scratch.disc, kDiscPoints);
    team.for_each(kDiscPoints, [&](std::uint32_t i) { scratch.support[i] = support_of(t, scratch.support[i]); });
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

  /// A triangle by its weight, and in it curvatures, each as likely.
  PENSTOCK_HD static Curve pick(const TrackParams& t, const TrackBuffers& in, const std::uint32_t* up_to,
                                std::uint32_t total, const Philox& random) {
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
    const float k1 = w * x[corner[0]] + u * x[corner[1]] + v * x[corner[2]];
    const float k2 = w * y[corner[0]] + u * y[corner[1]] + v * y[corner[2]];
    return curve_of(k1 * t.probe.max_curvature, k2 * t.probe.max_curvature);
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
        const Curve curve = curve_of(k * to.cosine, k * to.sine);
        scratch.angle[lane] = angle;
        scratch.support[lane] = support(t, in, point, frame_about(direction, angle), curve);
      });
      const float best = team_largest(team, scratch.support, 32);
      if (!(best > 0)) continue;
      heading.frame = frame_about(direction, scratch.angle[lowest_equal(team, scratch.support, 32, best)]);
      heading.moved = direction;
      return true;
    }
    return false;
  }
};

}  // namespace penstock::tracto
