// An LZW tile by many teams.  Between two Clears a stream depends on nothing before them, so a team takes what lies
// between two: a segment.  Three passes: find_lzw_segments (a team for each tile), measure_lzw_segment (a team for each
// segment: how much does it write?), decode_lzw_segment (again).  Streams that are not what libtiff's encoder makes
// (more Clears than there is room for, or other places than the first pass guessed) are left to one team.  No pass
// waits for another team.
#pragma once
#include "codec/tiff_lzw/kernel.hpp"

namespace penstock::tiff {

/// Codes between two Clears of an encoder that fills its table, as libtiff's does.
inline constexpr std::uint32_t kLzwFullSegment = 3836;
/// A segment of a tile.
struct LzwSegment {
  std::uint32_t bit = 0;    ///< behind its Clear, counted as LzwBits does
  std::uint32_t codes = 0;  ///< up to the next Clear; of the last segment, which is all the rest, 0
  std::uint32_t bytes = 0;  ///< of output; known after the second pass, but for the last one
};
/// What was found of a tile.
struct LzwTile {
  std::uint32_t segments = 0;
  std::uint32_t alone = 0;  ///< not 0: one team decodes all of it
};
/// Segments that are kept of each tile: each code makes a byte or more.
PENSTOCK_HD std::uint32_t lzw_slots(std::uint64_t largest_bytes) {
  return static_cast<std::uint32_t>((largest_bytes < kLzwMaxOut ? largest_bytes : kLzwMaxOut) / kLzwFullSegment + 2);
}

/// Codes from bit `begin` on, which is behind a Clear, up to the next Clear; ~0U: there is none.
template <class Team>
PENSTOCK_HD std::uint32_t lzw_codes_to_clear(const Team& team, const LzwBits<false>& in, std::uint32_t begin) {
  const std::uint32_t guess = begin + lzw_bits_before(kLzwFullSegment, 0);
  if (guess + 12 <= in.end && in.code_at(guess, 12) == kLzwClear) return kLzwFullSegment;
  constexpr std::uint32_t kAtOnce = 4;  // batches whose loads are under way together
  std::uint32_t codes = 0, clear = begin, n = 0;
  PENSTOCK_NO_UNROLL
  for (;;) {  // takes 9 bits a code or more each time, or ends
    typename Team::template var<LzwWords> words[kAtOnce];
    PENSTOCK_UNROLL
    for (std::uint32_t b = 0; b < kAtOnce; ++b) words[b] = in.batch(team, clear, n + b * Team::lanes);
    auto ends = team.map([&](std::uint32_t lane) {  // a bit of each batch: it ends here; the one above: by a Clear
      std::uint32_t found = 0;
      PENSTOCK_UNROLL
      for (std::uint32_t b = 0; b < kAtOnce; ++b) {
        const std::uint32_t width = lzw_width(n + b * Team::lanes + lane, 0);
        const std::uint32_t c = LzwBits<false>::code(Team::at(words[b], lane), width);
        const bool ended = Team::at(words[b], lane).at + width > in.end || c == kLzwEnd;
        found |= (ended ? 1U : c == kLzwClear ? 3U : 0U) << 2 * b;
      }
      return found;
    });
    PENSTOCK_NO_UNROLL
    for (std::uint32_t b = 0; b < kAtOnce; ++b) {
      const std::uint32_t stop =
          team.first(team.map([&](std::uint32_t lane) { return (Team::at(ends, lane) >> 2 * b & 1) != 0; }));
      if (stop < Team::lanes) return (team.broadcast(ends, stop) >> (2 * b + 1) & 1) != 0 ? codes + stop : ~0U;
      codes += Team::lanes;
    }
    if (n < kLzwSteady)
      n += kAtOnce * Team::lanes;
    else
      clear += 12 * kAtOnce * Team::lanes;
  }
}

/// The first pass: `segments` has room for `slots`.
template <class Team>
PENSTOCK_HD void find_lzw_segments(const Team& team, const DecodeTask& task, std::uint32_t slots, LzwTile& tile,
                                   LzwSegment* segments) {
  const LzwBits<false> in(task);
  std::uint32_t count = 0, bit = in.begin + 9;
  bool alone = !lzw_fits(task) || task.in_bytes < 2 || in.code_at(in.begin, 9) != kLzwClear;
  PENSTOCK_NO_UNROLL
  while (!alone) {
    const std::uint32_t codes = lzw_codes_to_clear(team, in, bit);
    const bool last = codes == ~0U;
    if (last || codes > 0) {  // Clears in a row are one
      team.each_lane([&](std::uint32_t lane) {
        if (lane == 0) segments[count] = {bit, last ? 0 : codes, 0};
      });
      ++count;
    }
    if (last) break;
    bit += lzw_bits_before(codes, 0) + lzw_width(codes, 0);
    alone = count == slots;
  }
  team.each_lane([&](std::uint32_t lane) {
    if (lane == 0) tile = {count, alone ? 1U : 0U};
  });
}

/// The second pass, of segment `slot`: lengths only.
template <class Team>
PENSTOCK_HD void measure_lzw_segment(const Team& team, const DecodeTask& task, LzwTile& tile, LzwSegment* segments,
                                     std::uint32_t slot, LzwShared& shared) {
  if (slot + 1 >= tile.segments) return;  // the rest is as long as it is
  const LzwBits<false> in(task);
  const LzwSegment segment = segments[slot];
  std::uint32_t clear = segment.bit, n = 0;
  auto made = team.map([](std::uint32_t) { return 0U; });  // of this many bytes at the most, so that it has an end
  auto words = in.batch(team, clear, 0), next = in.batch(team, clear, Team::lanes);
  PENSTOCK_NO_UNROLL
  for (std::uint32_t done = 0; done < segment.codes; done += Team::lanes) {
    auto later = in.batch(team, clear, n + 2 * Team::lanes);
    const std::uint32_t left = segment.codes - done;
    auto code = team.map([&](std::uint32_t lane) {
      const std::uint32_t c = LzwBits<false>::code(Team::at(words, lane), lzw_width(n + lane, 0));
      return lane < left ? c : 0;
    });
    words = next;
    next = later;
    if (team.ballot(team.map([&](std::uint32_t lane) { return lzw_stops(Team::at(code, lane), n + lane); })) != 0) {
      // Not a segment, or a stream that is no good: one team finds out.
      team.each_lane([&](std::uint32_t lane) {
        if (lane == 0) atomic_add(&tile.alone, 1U);
      });
      return;
    }
    auto length = team.map([&](std::uint32_t lane) {
      const std::uint32_t c = Team::at(code, lane);
      if (c < kLzwClear) return 1U;
      return c - kLzwFirst < n ? std::uint32_t{shared.low[c - kLzwFirst]} : 0U;
    });
    auto from = team.map([&](std::uint32_t lane) {
      const std::uint32_t c = Team::at(code, lane);
      return c >= kLzwFirst + n ? c - kLzwFirst - n : lane;
    });
    if (team.ballot(team.map([&](std::uint32_t lane) { return Team::at(from, lane) != lane; })) != 0)
      length = lzw_follow(team, from, length);
    if (n < kLzwSteady)
      team.each_lane(
          [&](std::uint32_t lane) { shared.low[n + lane] = static_cast<std::uint16_t>(Team::at(length, lane) + 1); });
    made = team.map([&](std::uint32_t lane) {
      const std::uint32_t sum = Team::at(made, lane) + (lane < left ? Team::at(length, lane) : 0);
      return sum < kLzwMaxOut ? sum : static_cast<std::uint32_t>(kLzwMaxOut);
    });
    if (n < kLzwSteady)
      n += Team::lanes;
    else
      clear += 12 * Team::lanes;
  }
  auto sums = team.inclusive_sum(team.map([&](std::uint32_t lane) { return std::uint64_t{Team::at(made, lane)}; }));
  const std::uint64_t all = team.broadcast(sums, Team::lanes - 1);
  team.each_lane([&](std::uint32_t lane) {
    if (lane == 0) segments[slot].bytes = static_cast<std::uint32_t>(all < kLzwMaxOut ? all : kLzwMaxOut);
  });
}

/// The third pass, of segment `slot`.  One of the teams of a tile gives its result.
template <class Team>
PENSTOCK_HD void decode_lzw_segment(const Team& team, const DecodeTask& task, const LzwTile& tile,
                                    const LzwSegment* segments, std::uint32_t slot, LzwShared& shared,
                                    ChunkStatus& result) {
  const auto tell = [&](const ChunkStatus& status) {
    team.each_lane([&](std::uint32_t lane) {
      if (lane == 0) result = status;
    });
  };
  const bool alone = tile.alone != 0;
  if (tile.segments == 0) {  // nothing to decode
    if (slot == 0) tell(begin_lzw<false>(task));
    return;
  }
  if (slot >= (alone ? 1 : tile.segments)) return;
  std::uint64_t start = 0;
  PENSTOCK_NO_UNROLL
  for (std::uint32_t first = 0; first < slot; first += Team::lanes) {
    auto sums = team.inclusive_sum(team.map([&](std::uint32_t lane) {
      return first + lane < slot ? std::uint64_t{segments[first + lane].bytes} : std::uint64_t{0};
    }));
    start += team.broadcast(sums, Team::lanes - 1);
  }
  const bool last = alone || slot + 1 == tile.segments;
  const std::uint64_t end = last ? task.out_bytes : start + segments[slot].bytes;
  LzwSpan span;
  span.bit = segments[slot].bit;
  span.until = static_cast<std::uint32_t>(end < task.out_bytes ? end : task.out_bytes);
  span.made = start < span.until ? static_cast<std::uint32_t>(start) : span.until;
  const ChunkStatus status = decode_lzw_span<false>(team, task, span, shared);
  if (last) tell(status);
}

}  // namespace penstock::tiff
