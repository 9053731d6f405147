// Deterministic steps: the strongest direction within a cone about the last one.
#pragma once
#include "tracto/step/amplitudes.hpp"

namespace penstock::tracto {

struct DetStep : AmplitudeStep {
  /// The direction after `last` (unit), into it; of equal ones that of the lower number.  false: there is none.
  template <class Team, class Scratch>
  PENSTOCK_HD static bool next(const Team& team, const TrackParams& t, const TrackBuffers& in, const Corners& c,
                               Scratch& scratch, const DrawKey&, std::uint32_t, const Vec3&, Vec3& last) {
    if (!sample_above(team, t, in, c, scratch)) return false;
    const Vec3 along = last;
    const float *const x = in.vertex, *const y = x + t.stride, *const z = y + t.stride, least = t.cos_max_angle;
    float* const amplitude = scratch.amplitude;
    team.for_each(t.directions, [=](std::uint32_t i) {
      const float cosine = absolute(x[i] * along.x + y[i] * along.y + z[i] * along.z);
      amplitude[i] = cosine < least ? 0.0f : amplitude[i];
    });
    const float strongest = team_largest(team, scratch.amplitude, t.directions);
    if (!(strongest > 0)) return false;
    go_on(t, in, lowest_equal(team, scratch.amplitude, t.directions, strongest), last);
    return true;
  }
};

}  // namespace penstock::tracto
