// What the methods that step along sampled amplitudes share.
#pragma once
#include "tracto/field/peaks.hpp"
#include "tracto/random.hpp"

namespace penstock::tracto {

/// Memory that a team shares for one streamline; for at most N directions.
template <std::uint32_t N = kMaxAmplitudes>
struct StepScratch {
  float amplitude[N];
  std::uint32_t weight[N];
};

/// The amplitudes at a point, those below the threshold 0.  false: all are.
template <class Team, class Scratch>
PENSTOCK_HD bool sample_above(const Team& team, const TrackParams& t, const TrackBuffers& in, const Corners& c,
                              Scratch& scratch) {
  sample_pmf(team, t, in, c, scratch.amplitude);
  const float largest = team_largest(team, scratch.amplitude, t.directions), least = t.pmf_threshold * largest;
  team.for_each(t.directions, [&](std::uint32_t i) {
    if (scratch.amplitude[i] < least) scratch.amplitude[i] = 0;
  });
  return largest > 0;
}

/// Their peaks.
template <class Team, class Scratch>
PENSTOCK_HD Peaks peaks_above(const Team& team, const TrackParams& t, const TrackBuffers& in, const Corners& c,
                              Scratch& scratch) {
  sample_above(team, t, in, c, scratch);
  return find_peaks(team, t, in, scratch.amplitude, reinterpret_cast<float*>(scratch.weight));
}

/// Direction `chosen`, or its antipode, whichever goes on from `last`.
PENSTOCK_HD void go_on(const TrackParams& t, const TrackBuffers& in, std::uint32_t chosen, Vec3& last) {
  const Vec3 v = vertex(t, in, chosen);
  last = dot(v, last) < 0 ? negated(v) : v;
}

}  // namespace penstock::tracto
