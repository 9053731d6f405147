// Steps to the peak that is closest to the last direction.
#pragma once
#include "tracto/step/amplitudes.hpp"

namespace penstock::tracto {

struct ClosestStep : AmplitudeStep {
  /// The direction after `last` (unit), into it; of two as close the stronger.  false: no peak is within the angle.
  template <class Team, class Scratch>
  PENSTOCK_HD static bool next(const Team& team, const TrackParams& t, const TrackBuffers& in, const Corners& c,
                               Scratch& scratch, const DrawKey&, std::uint32_t, const Vec3&, Vec3& last) {
    return go_to_closest(t, in, peaks_above(team, t, in, c, scratch), last);
  }
};

}  // namespace penstock::tracto
