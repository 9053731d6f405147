// A tile of LZ sequences: literals followed by a match, as LZ4, DEFLATE and their kin have them.  Whoever decodes the
// format fills a tile; then the whole team makes its bytes at once, each byte finding by itself where it comes from, so
// that short copies leave no lane idle and no byte waits for another of the same tile.
#pragma once
#include <cstdint>

#include "device/portable.hpp"

namespace penstock::lz {

/// At most kSequences sequences that make at most kBytes bytes (a multiple of 1024).  Lives in shared memory.
template <std::uint32_t kSequences, std::uint32_t kBytes>
struct Tile {
  static_assert(kBytes % 1024 == 0 && kBytes <= 32768);
  static constexpr std::uint32_t max_sequences = kSequences;
  static constexpr std::uint32_t max_bytes = kBytes;
  static constexpr std::uint32_t words = kBytes / 32;

  /// Positions count from the tile's first byte.
  struct alignas(16) Sequence {
    std::uint32_t literals;  ///< of byte i of the tile among the literals: literals + i (modulo 2^32)
    std::uint32_t offset;    ///< of the match: how far back, at least 1
    std::uint16_t match;     ///< where the match begins
    std::uint16_t start;     ///< where the sequence begins
  };
  Sequence sequence[kSequences];
  std::uint32_t starts[words];  ///< a bit where a sequence begins; byte 0 begins one
  std::uint16_t before[words];  ///< sequences that begin before this word
  std::uint32_t sequences;
  std::uint32_t bytes;

  [[nodiscard]] PENSTOCK_HD Sequence find(std::uint32_t i) const {
    const std::uint32_t up_to_here = starts[i / 32] & (~0u >> (31 - i % 32));
    return sequence[before[i / 32] + count_bits(up_to_here) - 1];
  }
};

/// Makes a tile empty.
template <class Team, class TileT>
PENSTOCK_HD void clear(const Team& team, TileT& tile) {
  team.for_each(TileT::words, [&](std::uint32_t i) { tile.starts[i] = 0; });
}

/// Adds sequence `index`, which begins at byte `start`, all but its mark: see mark().
template <class TileT>
PENSTOCK_HD void enter(TileT& tile, std::uint32_t index, std::uint32_t start, std::uint32_t match,
                       std::uint32_t first_literal, std::uint32_t offset) {
  tile.sequence[index] = {first_literal - start, offset, static_cast<std::uint16_t>(match),
                          static_cast<std::uint16_t>(start)};
}

/// Adds sequence `index`, which begins at byte `start`.  Each in a lane of its own or one after the other.
template <class TileT>
PENSTOCK_HD void put(TileT& tile, std::uint32_t index, std::uint32_t start, std::uint32_t match,
                     std::uint32_t first_literal, std::uint32_t offset) {
  enter(tile, index, start, match, first_literal, offset);
  atomic_or(&tile.starts[start / 32], 1u << (start % 32));
}

/// Marks where sequences begin that one lane has entered.
template <class Team, class TileT>
PENSTOCK_HD void mark(const Team& team, TileT& tile, std::uint32_t sequences) {
  team.for_each(sequences, [&](std::uint32_t index) {
    const std::uint32_t start = tile.sequence[index].start;
    atomic_or(&tile.starts[start / 32], 1u << (start % 32));
  });
}

/// Called when all sequences are in, by a team of 32 lanes.
template <class Warp, class TileT>
PENSTOCK_HD void finish(const Warp& warp, TileT& tile, std::uint32_t sequences, std::uint32_t bytes) {
  constexpr std::uint32_t kEach = TileT::words / Warp::lanes;
  auto here = warp.map([&](std::uint32_t lane) {
    std::uint32_t count = 0;
    for (std::uint32_t k = 0; k < kEach; ++k) count += count_bits(tile.starts[lane * kEach + k]);
    return count;
  });
  auto sums = warp.inclusive_sum(here);
  warp.each_lane([&](std::uint32_t lane) {
    std::uint32_t count = Warp::at(sums, lane) - Warp::at(here, lane);
    for (std::uint32_t k = 0; k < kEach; ++k) {
      tile.before[lane * kEach + k] = static_cast<std::uint16_t>(count);
      count += count_bits(tile.starts[lane * kEach + k]);
    }
    if (lane != 0) return;
    tile.sequences = sequences;
    tile.bytes = bytes;
  });
}

/// The value of byte `i` of a tile that goes to `out`.  Every turn goes to an earlier sequence.
template <class TileT>
PENSTOCK_HD std::uint8_t byte_of(const TileT& tile, std::uint32_t i, const std::uint8_t* literals,
                                 const std::uint8_t* out) {
  for (;;) {
    const auto s = tile.find(i);
    if (i < s.match) return literals[s.literals + i];
    if (i - s.match >= s.offset) i = s.match + (i - s.match) % s.offset;  // the match overlaps itself
    if (i < s.offset) return *(out - (s.offset - i));
    i -= s.offset;
  }
}

/// Writes the bytes of a finished tile at `out`, Ahead of each lane at a time.  Every match begins within what was
/// written before it.
template <int Ahead = 4, class Team, class TileT>
PENSTOCK_HD void execute(const Team& team, const TileT& tile, const std::uint8_t* literals, std::uint8_t* out) {
  team.template for_each_batched<Ahead>(
      tile.bytes, [&](std::uint32_t i) { return byte_of(tile, i, literals, out); },
      [&](std::uint32_t i, std::uint8_t byte) { out[i] = byte; });
}

}  // namespace penstock::lz
