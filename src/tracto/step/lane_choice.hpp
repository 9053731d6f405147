// A direction drawn by the amplitudes within a cone, on a device: all numbers stay with the lanes, none in shared memory.
#pragma once
#include "tracto/linear.hpp"
#include "tracto/step/amplitudes.hpp"
#include "tracto/step/choose.hpp"

namespace penstock::tracto {

struct alignas(16) FourFloats {
  float of[4];
};

/// For at most N directions: lane l has directions 4 (g lanes + l) + k for k < 4 of each group g.
template <std::uint32_t N, class Team>
struct LaneChoice {
  static constexpr std::uint32_t kGroups = N / (4 * Team::lanes);
  static_assert(kGroups * 4 * Team::lanes == N);
  struct Amplitudes {
    float of[kGroups][4];
  };
  struct Weights {
    std::uint32_t of[kGroups][4];
  };
  template <class T>
  using Var = typename Team::template var<T>;

  /// What choose() gives for the weights that ProbStep makes of the amplitudes at a point.
  PENSTOCK_HD static std::uint32_t choose(const Team& team, const TrackParams& t, const TrackBuffers& in,
                                          const Corners& c, std::uint32_t word, const Vec3& along) {
    Var<Amplitudes> amplitudes = sample(team, t, in, c);
    auto most = team.map([&](std::uint32_t lane) {
      const Amplitudes& mine = team.at(amplitudes, lane);
      std::uint32_t bits = 0;
      PENSTOCK_UNROLL
      for (std::uint32_t g = 0; g < kGroups; ++g)
        PENSTOCK_UNROLL
        for (std::uint32_t k = 0; k < 4; ++k)
          bits = float_bits(mine.of[g][k]) > bits ? float_bits(mine.of[g][k]) : bits;
      return bits;
    });
    const float largest = bits_float(team.largest(most));
    if (!(largest > 0)) return t.directions;
    Var<Weights> weights = weigh(team, t, in, amplitudes, largest, along);
    return draw_by(team, t, weights, word);
  }

 private:
  PENSTOCK_HD static Var<Amplitudes> sample(const Team& team, const TrackParams& t, const TrackBuffers& in,
                                            const Corners& c) {
    CornerRow row[8];
    EightParts parts;
    PENSTOCK_UNROLL
    for (int k = 0; k < 8; ++k) {
      row[k] = corner_row(t, in, c, k);
      parts.of[k] = row[k].part;
    }
    return team.map([&](std::uint32_t lane) {
      Amplitudes out = {};
      PENSTOCK_UNROLL
      for (std::uint32_t g = 0; g < kGroups; ++g) {
        const std::uint32_t four = g * Team::lanes + lane;
        if (4 * four >= t.stride) continue;  // behind the directions of a row stand zeros
        FourAmplitudes a[8];
        PENSTOCK_UNROLL
        for (int k = 0; k < 8; ++k) a[k] = load4(row[k], four);
        PENSTOCK_UNROLL
        for (int k = 0; k < 4; ++k)
          out.of[g][k] = blend(a[0].of[k], a[1].of[k], a[2].of[k], a[3].of[k], a[4].of[k], a[5].of[k], a[6].of[k],
                               a[7].of[k], parts);
      }
      return out;
    });
  }

  PENSTOCK_HD static Var<Weights> weigh(const Team& team, const TrackParams& t, const TrackBuffers& in,
                                        Var<Amplitudes>& amplitudes, float largest, const Vec3& along) {
    const float least = t.pmf_threshold * largest, scale = kFullWeight / largest;
    return team.map([&](std::uint32_t lane) {
      const Amplitudes& mine = team.at(amplitudes, lane);
      Weights out = {};
      PENSTOCK_UNROLL
      for (std::uint32_t g = 0; g < kGroups; ++g) {
        const std::uint32_t first = 4 * (g * Team::lanes + lane);
        if (first >= t.stride) continue;
        const auto x = load_aligned<FourFloats>(in.vertex + first),
                   y = load_aligned<FourFloats>(in.vertex + t.stride + first),
                   z = load_aligned<FourFloats>(in.vertex + 2 * t.stride + first);
        PENSTOCK_UNROLL
        for (std::uint32_t k = 0; k < 4; ++k) {
          const float cosine = absolute(x.of[k] * along.x + y.of[k] * along.y + z.of[k] * along.z), a = mine.of[g][k];
          out.of[g][k] = a >= least && cosine >= t.cos_max_angle ? static_cast<std::uint32_t>(a * scale) : 0;
        }
      }
      return out;
    });
  }

  PENSTOCK_HD static std::uint32_t draw_by(const Team& team, const TrackParams& t, Var<Weights>& weights,
                                           std::uint32_t word) {
    Var<std::uint32_t> up_to[kGroups];
    std::uint32_t of_group[kGroups], total = 0;
    PENSTOCK_UNROLL
    for (std::uint32_t g = 0; g < kGroups; ++g) {
      up_to[g] = team.inclusive_sum(team.map([&](std::uint32_t lane) {
        const std::uint32_t* const w = team.at(weights, lane).of[g];
        return w[0] + w[1] + w[2] + w[3];
      }));
      of_group[g] = team.broadcast(up_to[g], Team::lanes - 1);
      total += of_group[g];
    }
    if (total == 0) return t.directions;
    std::uint32_t target = mul_high(word, total), group = 0;
    PENSTOCK_UNROLL
    for (std::uint32_t g = 0; g + 1 < kGroups; ++g)
      if (group == g && target >= of_group[g]) {
        target -= of_group[g];
        group = g + 1;
      }
    // Each lane as if it held the one; no group is looked up by its number, which would take it out of the registers.
    auto beyond = team.map([&](std::uint32_t lane) {
      std::uint32_t sum = 0;
      PENSTOCK_UNROLL
      for (std::uint32_t g = 0; g < kGroups; ++g) sum = group == g ? team.at(up_to[g], lane) : sum;
      return sum > target;
    });
    const std::uint32_t holder = team.first(beyond);
    auto within = team.map([&](std::uint32_t lane) {
      std::uint32_t k = 0;
      PENSTOCK_UNROLL
      for (std::uint32_t g = 0; g < kGroups; ++g) {
        const std::uint32_t* const w = team.at(weights, lane).of[g];
        const std::uint32_t before = team.at(up_to[g], lane) - (w[0] + w[1] + w[2] + w[3]);
        const std::uint32_t passed = (before + w[0] <= target ? 1u : 0u) + (before + w[0] + w[1] <= target ? 1u : 0u) +
                                     (before + w[0] + w[1] + w[2] <= target ? 1u : 0u);
        k = group == g ? passed : k;
      }
      return k;
    });
    return 4 * (group * Team::lanes + holder) + team.broadcast(within, holder);
  }
};

}  // namespace penstock::tracto
