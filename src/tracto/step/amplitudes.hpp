// What the methods that step along sampled amplitudes share.
#pragma once
#include "tracto/field/peaks.hpp"
#include "tracto/random.hpp"

namespace penstock::tracto {

/// Memory that a team shares for one streamline; for at most N directions.
template <std::uint32_t N = kMaxAmplitudes>
struct StepScratch {
  static constexpr std::uint32_t kDirections = N;
  float amplitude[N];
  std::uint32_t weight[N];
};

/// Sets those below the threshold to 0; the largest.
template <class Team>
PENSTOCK_HD float drop_weak(const Team& team, const TrackParams& t, float* amplitude) {
  const float largest = team_largest(team, amplitude, t.directions), least = t.pmf_threshold * largest;
  team.for_each(t.directions, [=](std::uint32_t i) { amplitude[i] = amplitude[i] < least ? 0.0f : amplitude[i]; });
  return largest;
}

/// The amplitudes at a point, those below the threshold 0.  false: all are.
template <class Team, class Scratch>
PENSTOCK_HD bool sample_above(const Team& team, const TrackParams& t, const TrackBuffers& in, const Corners& c,
                              Scratch& scratch) {
  sample_pmf(team, t, in, c, scratch.amplitude);
  return drop_weak(team, t, scratch.amplitude) > 0;
}

/// Their peaks.
template <class Team, class Scratch>
PENSTOCK_HD Peaks peaks_above(const Team& team, const TrackParams& t, const TrackBuffers& in, const Corners& c,
                              Scratch& scratch) {
  sample_above(team, t, in, c, scratch);
  return find_peaks(team, t, in, scratch.amplitude, scratch.weight);
}

/// Direction `chosen`, or its antipode, whichever goes on from `last`.
PENSTOCK_HD void go_on(const TrackParams& t, const TrackBuffers& in, std::uint32_t chosen, Vec3& last) {
  const Vec3 v = vertex(t, in, chosen);
  last = dot(v, last) < 0 ? negated(v) : v;
}

/// Goes on along the peak that is closest to `last`; of two as close along the stronger.  false: none is within the
/// angle.
PENSTOCK_HD bool go_to_closest(const TrackParams& t, const TrackBuffers& in, const Peaks& peaks, Vec3& last) {
  float closest = -1;
  std::uint32_t chosen = 0;
  for (std::uint32_t p = 0; p < kMaxPeaks; ++p) {
    if (p >= peaks.count) break;
    const float cosine = absolute(dot(vertex(t, in, peaks.direction[p]), last));
    if (cosine > closest) {
      closest = cosine;
      chosen = peaks.direction[p];
    }
  }
  if (closest < t.cos_max_angle) return false;
  go_on(t, in, chosen, last);
  return true;
}

/// A method whose state is its last direction.
struct DirectionStep {
  using Heading = Vec3;
  template <std::uint32_t N>
  using ScratchOf = StepScratch<N>;

  /// Sets out from `point` along `direction`.  false: it cannot, and the streamline is one point.
  template <class Team, class S>
  PENSTOCK_HD static bool begin(const Team&, const TrackParams&, const TrackBuffers&, S&, const DrawKey&, const Vec3&,
                                const Vec3& direction, Heading& heading) {
    heading = direction;
    return true;
  }
  /// The heading of the other half.
  PENSTOCK_HD static Heading turned(const Heading& heading) { return negated(heading); }
  /// Where the point goes, as a unit vector.
  PENSTOCK_HD static Vec3 displacement(const Heading& heading) { return heading; }
};

/// One that begins along the peaks of sampled amplitudes.
struct AmplitudeStep : DirectionStep {
  template <class Team, class S>
  PENSTOCK_HD static Peaks start(const Team& team, const TrackParams& t, const TrackBuffers& in, const Corners& c,
                                 S& scratch, const DrawKey&) {
    return peaks_above(team, t, in, c, scratch);
  }
};

}  // namespace penstock::tracto
