// Stopping where a map, most often the fractional anisotropy, falls to a threshold.
#pragma once
#include "tracto/field/pmf.hpp"

namespace penstock::tracto {

/// Why one half of a streamline ended; a number in the file (dps "reason").
enum class EndReason : std::uint8_t {
  outside = 0,       ///< the next point left the volume
  stop_map = 1,      ///< the map at the next point is not above the threshold
  no_direction = 2,  ///< no direction within the angle
  max_length = 3,
  on = 255,  ///< none: it goes on
};

/// At a point, with its corners filled in where it is inside.
PENSTOCK_HD EndReason stop_at(const TrackParams& t, const TrackBuffers& in, const Vec3& p, Corners& corners) {
  if (!inside(t, p)) return EndReason::outside;
  corners = corners_of(t, p);
  return sample_map(in.stop, corners) > t.stop_below ? EndReason::on : EndReason::stop_map;
}

}  // namespace penstock::tracto
