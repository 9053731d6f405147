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
  if (!(amplitude[i] > 0)) return false;  // none is below: amplitudes are not negative
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

/// Lists the directions that are_peak, in no order, into `list`; uniform: how many.
template <class Team>
PENSTOCK_HD std::uint32_t list_peaks(const Team& team, const TrackParams& t, const TrackBuffers& in,
                                     const float* amplitude, std::uint32_t* list) {
  static_assert(kMaxAmplitudes <= 32 * Team::lanes);
  auto mine = team.map([&](std::uint32_t lane) {
    std::uint32_t bits = 0;
    for (std::uint32_t k = 0; k * Team::lanes + lane < t.directions; ++k)
      bits |= is_peak(in, amplitude, k * Team::lanes + lane) ? 1u << k : 0u;
    return bits;
  });
  auto count = team.map([&](std::uint32_t lane) { return count_bits(team.at(mine, lane)); });
  auto up_to = team.inclusive_sum(count);
  team.each_lane([&](std::uint32_t lane) {
    std::uint32_t at = team.at(up_to, lane) - team.at(count, lane);
    for (std::uint32_t bits = team.at(mine, lane); bits != 0; bits &= bits - 1)
      list[at++] = low_bit(bits) * Team::lanes + lane;
  });
  return team.broadcast(up_to, Team::lanes - 1);
}

/// The strongest of a list, of equal ones the lower number; uniform: `directions` when the list has none any more.
template <class Team>
PENSTOCK_HD std::uint32_t strongest_of(const Team& team, const TrackParams& t, const float* amplitude,
                                       const std::uint32_t* list, std::uint32_t n) {
  auto most = team.map([&](std::uint32_t lane) {
    std::uint32_t bits = 0;
    for (std::uint32_t c = lane; c < n; c += Team::lanes) {
      const std::uint32_t b = list[c] < t.directions ? float_bits(amplitude[list[c]]) : 0;
      bits = b > bits ? b : bits;
    }
    return bits;
  });
  const std::uint32_t strongest = team.largest(most);
  if (strongest == 0) return t.directions;
  auto lowest = team.map([&](std::uint32_t lane) {
    std::uint32_t found = 0;  // counted from the end, so that the largest is the lowest number
    for (std::uint32_t c = lane; c < n; c += Team::lanes)
      if (list[c] < t.directions && float_bits(amplitude[list[c]]) == strongest && t.directions - list[c] > found)
        found = t.directions - list[c];
    return found;
  });
  return t.directions - team.largest(lowest);
}

/// Peaks of at least `relative_peak` of the strongest, both counted from the weakest direction, `separation` apart,
/// taken greedily from the strongest on.
/// `list`: room for `directions` numbers, shared by the team: those that may be taken yet.
template <class Team>
PENSTOCK_HD Peaks find_peaks(const Team& team, const TrackParams& t, const TrackBuffers& in, const float* amplitude,
                             std::uint32_t* list) {
  Peaks peaks = {};
  const std::uint32_t n = list_peaks(team, t, in, amplitude, list);
  if (n == 0) return peaks;
  const float weakest = team_smallest(team, amplitude, t.directions);
  float least = 0;
  while (peaks.count < t.max_peaks) {
    const std::uint32_t chosen = strongest_of(team, t, amplitude, list, n);
    if (chosen == t.directions) break;
    const float above = amplitude[chosen] - weakest;
    if (peaks.count == 0) least = t.relative_peak * above;
    if (above < least) break;
    const Vec3 v = vertex(t, in, chosen);
    peaks.direction[peaks.count++] = static_cast<std::uint16_t>(chosen);
    team.for_each(n, [&](std::uint32_t c) {
      const std::uint32_t i = list[c];
      if (i < t.directions && (i == chosen || absolute(dot(vertex(t, in, i), v)) > t.cos_separation))
        list[c] = t.directions;
    });
  }
  return peaks;
}

}  // namespace penstock::tracto
