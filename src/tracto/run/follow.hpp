// The only loop of tracking: from a seed to the points of its streamline.  Knows no method and no device.
#pragma once
#include "tracto/field/peaks.hpp"
#include "tracto/random.hpp"
#include "tracto/stop/threshold.hpp"

namespace penstock::tracto {

/// A streamline in its slot of max_points points.  Forward points stand at the beginning, those of the backward half at
/// the end with the farthest first: read as the last `backward` points of the slot, then the first `forward`.
struct Followed {
  std::uint32_t forward, backward;
  std::uint8_t reason[2];  ///< EndReason of the backward and of the forward half
};

/// Follows one half from `p`, whose corners are given; `store(i, point)` takes point i, from 0 on.
template <class Step, class Team, class Scratch, class Store>
PENSTOCK_HD std::uint32_t follow_half(const Team& team, const TrackParams& t, const TrackBuffers& in, Scratch& scratch,
                                      const DrawKey& key, Vec3 p, Corners corners, typename Step::Heading heading,
                                      std::uint32_t most, EndReason& reason, const Store& store) {
  std::uint32_t n = 0, since = 0;
  reason = EndReason::max_length;
  for (std::uint32_t step = 0; n < most; ++step) {
    if (!Step::next(team, t, in, corners, scratch, key, step, p, heading)) {
      reason = EndReason::no_direction;
      break;
    }
    const Vec3 moved = Step::displacement(heading);
    p.x += moved.x * t.step_voxel[0];
    p.y += moved.y * t.step_voxel[1];
    p.z += moved.z * t.step_voxel[2];
    const EndReason stop = stop_at(t, in, p, corners);
    if (stop != EndReason::on) {
      reason = stop;
      break;
    }
    if (++since < t.substeps) continue;
    since = 0;
    store(n++, p);
  }
  return n;
}

/// Both halves of the streamline that begins at `seed` (inside, corners given) along `direction`, into `slot`.
template <class Step, class Team, class Scratch>
PENSTOCK_HD Followed follow(const Team& team, const TrackParams& t, const TrackBuffers& in, Scratch& scratch,
                            DrawKey key, const Vec3& seed, const Corners& corners, const Vec3& direction, Vec3* slot) {
  Followed out = {1, 0, {}};
  const auto put = [&](std::uint32_t at, const Vec3& p) {
    team.each_lane([&](std::uint32_t lane) {
      if (lane == 0) slot[at] = p;
    });
  };
  put(0, seed);
  out.reason[0] = out.reason[1] = static_cast<std::uint8_t>(EndReason::no_direction);
  typename Step::Heading heading = {};
  if (!Step::begin(team, t, in, scratch, key, seed, direction, heading)) return out;
  PENSTOCK_NO_UNROLL  // the loop's body is long
      for (std::uint32_t half = 0; half < 2; ++half) {
    key.half = half;
    EndReason reason = EndReason::no_direction;
    const std::uint32_t n =
        follow_half<Step>(team, t, in, scratch, key, seed, corners, half == 0 ? heading : Step::turned(heading),
                          t.max_points - out.forward, reason,
                          [&](std::uint32_t i, const Vec3& p) { put(half == 0 ? 1 + i : t.max_points - 1 - i, p); });
    (half == 0 ? out.forward : out.backward) += n;
    out.reason[1 - half] = static_cast<std::uint8_t>(reason);
  }
  return out;
}

/// Point i of a streamline, in millimetres of the world.
PENSTOCK_HD Vec3 world_point(const TrackParams& t, const Followed& f, const Vec3* slot, std::uint32_t i) {
  const Vec3 p = i < f.backward ? slot[t.max_points - f.backward + i] : slot[i - f.backward];
  const float* m = t.world_from_voxel;
  return {m[0] * p.x + m[1] * p.y + m[2] * p.z + m[3], m[4] * p.x + m[5] * p.y + m[6] * p.z + m[7],
          m[8] * p.x + m[9] * p.y + m[10] * p.z + m[11]};
}

}  // namespace penstock::tracto
