// Probabilistic steps: the next direction is drawn from the amplitudes within a cone about the last one.
#pragma once
#include "tracto/step/amplitudes.hpp"

namespace penstock::tracto {

/// Weights are whole numbers of at most this: 1024 of them fit in 32 bits, and their sum is the same in any order.
inline constexpr float kFullWeight = 2097152.0f;

struct ProbStep {
  /// Directions to begin with at a point.
  template <class Team, class Scratch>
  PENSTOCK_HD static Peaks start(const Team& team, const TrackParams& t, const TrackBuffers& in, const Corners& c,
                                 Scratch& scratch) {
    return peaks_above(team, t, in, c, scratch);
  }

  /// The direction after `last` (unit), into it.  false: there is none within the angle.
  template <class Team, class Scratch>
  PENSTOCK_HD static bool next(const Team& team, const TrackParams& t, const TrackBuffers& in, const Corners& c,
                               Scratch& scratch, const DrawKey& key, std::uint32_t step, Vec3& last) {
    sample_pmf(team, t, in, c, scratch.amplitude);
    const float largest = team_largest(team, scratch.amplitude, t.directions);
    if (!(largest > 0)) return false;
    const float least = t.pmf_threshold * largest, scale = kFullWeight / largest;
    const Vec3 along = last;
    const float* const amplitude = scratch.amplitude;
    std::uint32_t* const weight = scratch.weight;
    const float *const x = in.vertex, *const y = x + t.stride, *const z = y + t.stride;
    const float least_cosine = t.cos_max_angle;
    team.for_each(t.directions, [=](std::uint32_t i) {
      const float cosine = absolute(x[i] * along.x + y[i] * along.y + z[i] * along.z), a = amplitude[i];
      const auto whole = static_cast<std::uint32_t>(static_cast<std::int32_t>(a * scale));  // signed: vectors have it
      weight[i] = a >= least && cosine >= least_cosine ? whole : 0;
    });
    const std::uint32_t word = draw(key, step, 0).word[0];
    const std::uint32_t chosen = choose(team, scratch.weight, t.directions, word);
    if (chosen == t.directions) return false;
    go_on(t, in, chosen, last);
    return true;
  }

  /// Number i with a chance of weight[i] in their sum, by a random word; n when all are 0.  Never one of weight 0.
  template <class Team>
  PENSTOCK_HD static std::uint32_t choose(const Team& team, const std::uint32_t* weight, std::uint32_t n,
                                          std::uint32_t word) {
    const std::uint32_t each =
        (n + Team::lanes - 1) / Team::lanes;  // a lane has neighbours, so that the order is theirs
    auto sum = team.map([&](std::uint32_t lane) {
      std::uint32_t s = 0;
      for (std::uint32_t i = lane * each; i < (lane + 1) * each && i < n; ++i) s += weight[i];
      return s;
    });
    auto up_to = team.inclusive_sum(sum);
    const std::uint32_t total = team.broadcast(up_to, Team::lanes - 1);
    if (total == 0) return n;
    const std::uint32_t target = mul_high(word, total);
    auto beyond = team.map([&](std::uint32_t lane) { return team.at(up_to, lane) > target; });
    const std::uint32_t holder = team.first(beyond);
    std::uint32_t before = team.broadcast(up_to, holder) - team.broadcast(sum, holder);
    std::uint32_t i = holder * each;
    while (before + weight[i] <= target) before += weight[i++];
    return i;
  }
};

}  // namespace penstock::tracto
