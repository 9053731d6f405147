// Probabilistic steps: the next direction is drawn from the amplitudes within a cone about the last one.
#pragma once
#include "tracto/step/amplitudes.hpp"
#include "tracto/step/choose.hpp"
#include "tracto/step/lane_choice.hpp"

namespace penstock::tracto {

struct ProbStep : AmplitudeStep {
  /// The direction after `last` (unit), into it.  false: there is none within the angle.
  template <class Team, class Scratch>
  PENSTOCK_HD static bool next(const Team& team, const TrackParams& t, const TrackBuffers& in, const Corners& c,
                               Scratch& scratch, const DrawKey& key, std::uint32_t step, const Vec3&, Vec3& last) {
    std::uint32_t chosen = t.directions;
    if constexpr (kIsHostTeam<Team>) {
      chosen = choose_here(team, t, in, c, scratch, draw(key, step, 0).word[0], last);
    } else {
      chosen = LaneChoice<Scratch::kDirections, Team>::choose(team, t, in, c, draw(key, step, 0).word[0], last);
    }
    if (chosen == t.directions) return false;
    go_on(t, in, chosen, last);
    return true;
  }

 private:
  /// By way of the scratch, in loops that a compiler makes vectors of.
  template <class Team, class Scratch>
  static std::uint32_t choose_here(const Team& team, const TrackParams& t, const TrackBuffers& in, const Corners& c,
                                   Scratch& scratch, std::uint32_t word, const Vec3& along) {
    sample_pmf(team, t, in, c, scratch.amplitude);
    const float largest = team_largest(team, scratch.amplitude, t.directions);
    if (!(largest > 0)) return t.directions;
    const float least = t.pmf_threshold * largest, scale = kFullWeight / largest;
    const float* const amplitude = scratch.amplitude;
    std::uint32_t* const weight = scratch.weight;
    const float *const x = in.vertex, *const y = x + t.stride, *const z = y + t.stride;
    const float least_cosine = t.cos_max_angle;
    const std::uint32_t n = host_directions(t);
    for (std::uint32_t i = 0; i < n; ++i) {
      const float cosine = absolute(x[i] * along.x + y[i] * along.y + z[i] * along.z), a = amplitude[i];
      const float strong = a >= least ? a : 0.0f, kept = cosine >= least_cosine ? strong : 0.0f;
      weight[i] = static_cast<std::uint32_t>(static_cast<std::int32_t>(kept * scale));  // signed: vectors have it
    }
    return choose(team, weight, t.directions, word);
  }
};

}  // namespace penstock::tracto
