// Steps to the peak that is closest to the last direction.
#pragma once
#include "tracto/step/amplitudes.hpp"

namespace penstock::tracto {

struct ClosestStep {
  template <class Team, class Scratch>
  PENSTOCK_HD static Peaks start(const Team& team, const TrackParams& t, const TrackBuffers& in, const Corners& c,
                                 Scratch& scratch) {
    return peaks_above(team, t, in, c, scratch);
  }

  /// The direction after `last` (unit), into it; of two as close the stronger.  false: no peak is within the angle.
  template <class Team, class Scratch>
  PENSTOCK_HD static bool next(const Team& team, const TrackParams& t, const TrackBuffers& in, const Corners& c,
                               Scratch& scratch, const DrawKey&, std::uint32_t, Vec3& last) {
    const Peaks peaks = peaks_above(team, t, in, c, scratch);
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
};

}  // namespace penstock::tracto
