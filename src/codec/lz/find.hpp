// Matches for LZ formats, found by a warp: literals and where they repeat something earlier.
//
// The classic way looks at one position after another.  Here every lane looks at one of 32 neighbouring positions: two
// tables tell where the same 4 and the same 6 bytes were last (by their hashes), and what lies a few bytes back, and is
// not in the tables yet, is compared as well.  Then the matches are taken from left to right.  The tables take the
// maximum of positions, so that the result does not depend on the order of the lanes.
#pragma once
#include <cstdint>

#include "device/portable.hpp"

namespace penstock::lz {

inline constexpr std::uint32_t kMinMatch = 4;
/// Bytes that a warp looks through by itself: no match crosses the borders or refers to what is in front.
inline constexpr std::uint32_t kSegmentBytes = std::uint32_t{1} << 16;

/// Literals and the match behind them.
struct Found {
  std::uint32_t literal_at, literals;
  std::uint32_t offset, length;
};

/// What one lane holds, for all of them.
template <class Warp, class Var>
PENSTOCK_HD Found found_of(const Warp& warp, Var& found, std::uint32_t from) {
  const auto field = [&](std::uint32_t Found::* member) {
    return warp.broadcast(warp.map([&](std::uint32_t lane) { return Warp::at(found, lane).*member; }), from);
  };
  return {field(&Found::literal_at), field(&Found::literals), field(&Found::offset), field(&Found::length)};
}

/// Shared memory of the warp: position in the segment + 1 of the last bytes with a hash; 0: none.
struct FinderShared {
  static constexpr std::uint32_t kLog = 12;
  static constexpr std::uint32_t kEntries = 1u << kLog;
  std::uint16_t table[2 * kEntries];  ///< by 4 bytes, and behind that by 6 bytes
  std::uint32_t length[33];           ///< of the match of each lane
};

/// Where matches may be: they start in [begin, last_start], end at `last_end` at most and have at least `least` bytes;
/// last_start + least <= last_end.  What is loaded lies in front of last_start + kLoadsAhead and of last_end + 3.
struct Bounds {
  std::uint32_t begin, last_start, last_end, least;
};
inline constexpr std::uint32_t kLoadsAhead = 12;

/// 4 bytes at any position of `in`, which begins at a multiple of 4.
PENSTOCK_HD std::uint32_t load_word(const std::uint8_t* in, std::uint32_t at) {
  const std::uint8_t* aligned = in + (at & ~3u);
  const std::uint32_t low = load_aligned<std::uint32_t>(aligned);
  if (at % 4 == 0) return low;
  return shift_right(low, load_aligned<std::uint32_t>(aligned + 4), at % 4 * 8);
}

/// Slots of the tables.  The multipliers are those of Knuth (2^32 over the golden ratio) and a prime of 48 bits.
PENSTOCK_HD std::uint32_t slot_of_4(std::uint32_t word) { return word * 2654435761u >> (32 - FinderShared::kLog); }
PENSTOCK_HD std::uint32_t slot_of_6(std::uint32_t word, std::uint32_t next) {
  const std::uint64_t six = (static_cast<std::uint64_t>(next) << 32 | word) << 16;
  return FinderShared::kEntries + static_cast<std::uint32_t>(six * 227718039650203u >> (64 - FinderShared::kLog));
}

/// How many bytes at `a` and `b` are the same, of `most`.
PENSTOCK_HD std::uint32_t same_bytes(const std::uint8_t* in, std::uint32_t a, std::uint32_t b, std::uint32_t most) {
  std::uint32_t same = 0;
  while (same + 4 <= most) {
    const std::uint32_t differ = load_word(in, a + same) ^ load_word(in, b + same);
    if (differ != 0) return same + low_bit(differ) / 8;
    same += 4;
  }
  while (same < most && in[a + same] == in[b + same]) ++same;
  return same;
}

/// What a lane knows about its position.
struct Candidate {
  std::uint32_t offset, length;  ///< length 0: no match
  std::uint32_t slot4, slot6;    ///< of the tables
};

/// Lengths are found up to here by a lane alone; longer ones by the warp.
inline constexpr std::uint32_t kLaneLength = 32;

PENSTOCK_HD Candidate look_up(const std::uint8_t* in, std::uint32_t at, const Bounds& bounds,
                              const FinderShared& shared) {
  Candidate best{};
  if (at > bounds.last_start) return best;
  const std::uint32_t word = load_word(in, at);
  best.slot4 = slot_of_4(word);
  best.slot6 = slot_of_6(word, load_word(in, at + 4));
  const std::uint32_t left = bounds.last_end - at, most = left < kLaneLength ? left : kLaneLength;
  const auto consider = [&](std::uint32_t from) {
    if (load_word(in, from) != word) return;
    const std::uint32_t length = 4 + same_bytes(in, at + 4, from + 4, most - 4);
    if (length >= bounds.least && length > best.length) {
      best.length = length;
      best.offset = at - from;
    }
  };
  const std::uint32_t longer = shared.table[best.slot6], shorter = shared.table[best.slot4];
  if (longer != 0) consider(bounds.begin + longer - 1);
  if (shorter != 0 && shorter != longer && best.length < most) consider(bounds.begin + shorter - 1);
  PENSTOCK_UNROLL
  for (std::uint32_t offset = 1; offset <= 8; offset *= 2)
    if (at - bounds.begin >= offset && best.length < most) consider(at - offset);
  return best;
}

/// The length of a match at `at` of which `known` bytes are known, up to bounds.last_end.  Every turn is one of 32
/// words.
template <class Warp>
PENSTOCK_HD std::uint32_t extend(const Warp& warp, const std::uint8_t* in, std::uint32_t at, std::uint32_t offset,
                                 std::uint32_t known, const Bounds& bounds) {
  std::uint32_t length = known;
  while (at + length < bounds.last_end) {
    const std::uint32_t left = bounds.last_end - at - length;
    auto same = warp.map([&](std::uint32_t lane) {
      if (4 * lane >= left) return 0u;
      const std::uint32_t most = left - 4 * lane < 4 ? left - 4 * lane : 4, here = at + length + 4 * lane;
      return same_bytes(in, here, here - offset, most);
    });
    const std::uint32_t full = warp.first(warp.map([&](std::uint32_t lane) { return Warp::at(same, lane) < 4; }));
    length += 4 * full;
    if (full < Warp::lanes) return length + warp.broadcast(same, full);
  }
  return length;
}

PENSTOCK_HD void put_into_tables(FinderShared& shared, const Candidate& here, std::uint32_t position) {
  const auto value = static_cast<std::uint16_t>(position + 1);
  atomic_max(&shared.table[here.slot4], value);
  atomic_max(&shared.table[here.slot6], value);
}

/// Finds the matches of a segment of at most kSegmentBytes from left to right and gives them to sink(found, count), up
/// to 32 at a time, one in each lane.  Where the last one ends.  Every turn moves on.
template <class Warp, class Sink>
PENSTOCK_HD std::uint32_t find_matches(const Warp& warp, const std::uint8_t* in, const Bounds& bounds,
                                       FinderShared& shared, Sink sink) {
  warp.for_each(FinderShared::kEntries, [&](std::uint32_t i) { shared.table[2 * i] = shared.table[2 * i + 1] = 0; });
  std::uint32_t at = bounds.begin, literal_at = bounds.begin, count = 0;
  auto found = warp.map([](std::uint32_t) { return Found{}; });
  while (at <= bounds.last_start) {
    auto here = warp.map([&](std::uint32_t lane) { return look_up(in, at + lane, bounds, shared); });
    warp.each_lane([&](std::uint32_t lane) {
      if (at + lane <= bounds.last_start) put_into_tables(shared, Warp::at(here, lane), at + lane - bounds.begin);
      shared.length[lane] = Warp::at(here, lane).length;
      if (lane == 0) shared.length[Warp::lanes] = 0;
    });
    // A match that begins one byte later and is longer is better.
    auto good = warp.map(
        [&](std::uint32_t lane) { return shared.length[lane] != 0 && shared.length[lane + 1] <= shared.length[lane]; });
    std::uint32_t from = 0;
    while (from < Warp::lanes) {
      const std::uint32_t taken =
          warp.first(warp.map([&](std::uint32_t lane) { return lane >= from && Warp::at(good, lane); }));
      if (taken == Warp::lanes) break;
      const std::uint32_t start = at + taken;
      const std::uint32_t offset =
          warp.broadcast(warp.map([&](std::uint32_t lane) { return Warp::at(here, lane).offset; }), taken);
      std::uint32_t length = shared.length[taken];
      if (length >= kLaneLength) length = extend(warp, in, start, offset, length, bounds);
      warp.each_lane([&](std::uint32_t lane) {
        if (lane == count) Warp::at(found, lane) = {literal_at, start - literal_at, offset, length};
      });
      literal_at = start + length;
      from = taken + length;
      if (++count == Warp::lanes) {
        sink(found, count);
        count = 0;
      }
    }
    at = literal_at > at + Warp::lanes ? literal_at : at + Warp::lanes;
  }
  if (count > 0) sink(found, count);
  return literal_at;
}

}  // namespace penstock::lz
