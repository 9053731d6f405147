// A direction drawn by the amplitudes within a cone, on a device: all numbers stay with the lanes, none in shared
// memory.
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
  struct Sums {
    std::uint32_t of[kGroups];
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
      for (std::uint32_t g = 0; g < kGroups; ++g) PENSTOCK_UNROLL
      for (std::uint32_t k = 0; k < 4; ++k) bits = float_bits(mine.of[g][k]) > bits ? float_bits(mine.of[g][k]) : bits;
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

  PENSTOCK_HD static std::uint32_t sum_of(const Weights& w, std::uint32_t g) {
    return w.of[g][0] + w.of[g][1] + w.of[g][2] + w.of[g][3];
  }

  PENSTOCK_HD static std::uint32_t draw_by(const Team& team, const TrackParams& t, Var<Weights>& weights,
                                           std::uint32_t word) {
    // Sums up to and with each lane, of each group, and of the whole groups before: one behind the other.
    Var<Sums> up_to = team.map([](std::uint32_t) { return Sums{}; });
    std::uint32_t total = 0;
    PENSTOCK_UNROLL
    for (std::uint32_t g = 0; g < kGroups; ++g) {
      auto sum = team.inclusive_sum(team.map([&](std::uint32_t lane) { return sum_of(team.at(weights, lane), g); }));
      team.each_lane([&](std::uint32_t lane) { team.at(up_to, lane).of[g] = total + team.at(sum, lane); });
      total += team.broadcast(sum, Team::lanes - 1);
    }
    if (total == 0) return t.directions;
    const std::uint32_t target = mul_high(word, total);
    // The lowest direction whose sum is beyond: of each lane the first group, and in it the first of four.
    auto first = team.map([&](std::uint32_t lane) {
      const Weights& mine = team.at(weights, lane);
      std::uint32_t found = 0;  // counted from the end, so that the largest is the lowest
      PENSTOCK_UNROLL
      for (std::uint32_t g = 0; g < kGroups; ++g) {
        std::uint32_t sum = team.at(up_to, lane).of[g] - sum_of(mine, g);
        PENSTOCK_UNROLL
        for (std::uint32_t k = 0; k < 4; ++k) {
          sum += mine.of[g][k];
          const std::uint32_t from_end = N - (4 * (g * Team::lanes + lane) + k);
          found = found == 0 && sum > target ? from_end : found;
        }
      }
      return found;
    });
    return N - team.largest(first);
  }
};

}  // namespace penstock::tracto
