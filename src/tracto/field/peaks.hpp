// The peaks of amplitudes on a half sphere.
#pragma once
#include "tracto/field/pmf.hpp"

namespace penstock::tracto {

inline constexpr std::uint32_t kMaxPeaks = 8;

/// Directions of the peaks, strongest first; of equal ones the lower number.
struct Peaks {
  std::uint32_t count;
  std::uint16_t direction[kMaxPeaks];
};

/// Whether direction i is at least as strong as all its neighbours and stronger than one.
PENSTOCK_HD bool is_peak(const TrackBuffers& in, const float* amplitude, std::uint32_t i) {
  bool above = false;
  for (std::uint32_t k = 0; k < kNeighbourSlots; ++k) {
    const std::uint32_t other = in.neighbour[i * kNeighbourSlots + k];
    if (other == kNoNeighbour) break;
    if (amplitude[other] > amplitude[i]) return false;
    above = above || amplitude[other] < amplitude[i];
  }
  return above;
}

PENSTOCK_HD Vec3 vertex(const TrackParams& t, const TrackBuffers& in, std::uint32_t i) {
  return {in.vertex[i], in.vertex[t.stride + i], in.vertex[2 * t.stride + i]};
}

/// Peaks of at least `relative_peak` of the strongest, both counted from the weakest direction, `separation` apart,
/// taken greedily from the strongest on.
/// `rest`: room for `directions` numbers, shared by the team: the amplitudes of candidates.
template <class Team>
PENSTOCK_HD Peaks find_peaks(const Team& team, const TrackParams& t, const TrackBuffers& in, const float* amplitude,
                             float* rest) {
  Peaks peaks = {};
  team.for_each(t.directions, [&](std::uint32_t i) { rest[i] = is_peak(in, amplitude, i) ? amplitude[i] : 0.0f; });
  const float weakest = team_smallest(team, amplitude, t.directions);
  const float least = t.relative_peak * (team_largest(team, rest, t.directions) - weakest);
  while (peaks.count < t.max_peaks) {
    const float strongest = team_largest(team, rest, t.directions);
    if (!(strongest > 0) || strongest - weakest < least) break;
    const std::uint32_t chosen = lowest_equal(team, rest, t.directions, strongest);
    const Vec3 v = vertex(t, in, chosen);
    peaks.direction[peaks.count++] = static_cast<std::uint16_t>(chosen);
    team.for_each(t.directions, [&](std::uint32_t i) {
      if (i == chosen || absolute(dot(vertex(t, in, i), v)) > t.cos_separation) rest[i] = 0;
    });
  }
  return peaks;
}

}  // namespace penstock::tracto
