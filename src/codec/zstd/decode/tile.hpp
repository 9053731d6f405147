// A tile: some sequences of a block that follow each other, and where each byte of theirs comes from.
//
// Positions are relative to the tile's first byte.  A byte's source is in the literals, or before the tile in what is
// finished, or in the tile itself, and then that byte's source is followed; so no byte waits for another, whatever
// their order.  A map from groups of 4 bytes to sequences finds the sequence of a byte: a match has 3 bytes or more, so
// besides the sequence that holds the first byte of a group at most one more begins in it.
#pragma once
#include <cstdint>

#include "codec/zstd/decode/sequence_record.hpp"

namespace penstock::zstd {

inline constexpr std::uint32_t kMapBytes = 4;    ///< of a group in the map
inline constexpr std::uint32_t kOwnGroups = 32;  ///< that the lane of a sequence enters in the map by itself

/// One sequence: literals from its begin to `match`, the match from there to `end`.
struct alignas(16) TileSequence {
  std::uint16_t match, end;
  std::uint32_t literal_shift;  ///< the literal at position p is number literal_shift + p of the block
  std::uint32_t offset;
  std::uint32_t unused;
};

/// Where bytes come from: negative, a position before the tile; else the number of a literal.
struct ByteSource {
  static constexpr std::int32_t kScattered = INT32_MIN;  ///< not from one place
  std::int32_t from = kScattered;
  std::uint32_t length = 1;    ///< so many bytes are there; those that are wanted repeat them
  std::uint32_t rotation = 0;  ///< the first that is wanted, modulo the length
};

/// Shared memory of a team of Lanes.
template <std::uint32_t Lanes, std::uint32_t Bytes>
struct TileShared {
  static_assert(Bytes <= 32768, "positions and their differences have 16 bits");
  static constexpr std::uint32_t kMaxBytes = Bytes;
  static constexpr std::uint32_t kMaxScattered = 4 * Lanes;

  TileSequence sequence[Lanes];
  union {
    std::uint64_t record[Lanes];             // while the tile is made
    std::uint16_t scattered[kMaxScattered];  // words that are written byte by byte
  };
  std::uint16_t map[Bytes / kMapBytes + 1];
  std::uint16_t wide[Bytes / (kMapBytes * kOwnGroups) + 1];  ///< sequences over more than kOwnGroups groups
  std::uint32_t wides;
  std::uint32_t scattered_words;
  std::uint32_t bad_offsets;

  [[nodiscard]] PENSTOCK_HD TileSequence find(std::uint32_t at) const {
    const std::uint32_t k = map[at / kMapBytes];
    TileSequence found = sequence[k];
    if (at >= found.end) found = sequence[k + 1];
    return found;
  }

  /// The source of one byte.  Each turn goes back to an earlier sequence.
  [[nodiscard]] PENSTOCK_HD std::int32_t source(std::uint32_t at) const {
    for (;;) {
      const TileSequence s = find(at);
      if (at < s.match) return static_cast<std::int32_t>(s.literal_shift + at);
      std::int32_t from = static_cast<std::int32_t>(at) - static_cast<std::int32_t>(s.offset);
      if (from < 0) return from;                         // the common way out
      if (from >= static_cast<std::int32_t>(s.match)) {  // the match repeats itself
        from = static_cast<std::int32_t>(s.match - s.offset + (at - s.match) % s.offset);
        if (from < 0) return from;
      }
      at = static_cast<std::uint32_t>(from);
    }
  }

  /// The source of the four bytes from `at` on.  A match that repeats 1, 2 or 4 bytes counts as one place.
  [[nodiscard]] PENSTOCK_HD ByteSource source_of_word(std::uint32_t at) const {
    ByteSource found;
    std::uint32_t length = 4;
    for (;;) {
      const TileSequence s = find(at);
      if (at + length <= s.match) {
        found.from = static_cast<std::int32_t>(s.literal_shift + at);
        break;
      }
      if (at < s.match || at + length > s.end) return {};
      std::int32_t from = static_cast<std::int32_t>(at) - static_cast<std::int32_t>(s.offset);
      if (from + static_cast<std::int32_t>(length) > static_cast<std::int32_t>(s.match)) {  // the match repeats itself
        std::uint32_t phase = (at - s.match) % s.offset;
        if (phase + length > s.offset) {
          if (length % s.offset != 0) return {};
          found.rotation += phase;
          length = s.offset;
          phase = 0;
        }
        from = static_cast<std::int32_t>(s.match - s.offset + phase);
      }
      if (from < 0) {
        if (from + static_cast<std::int32_t>(length) > 0) return {};
        found.from = from;
        break;
      }
      at = static_cast<std::uint32_t>(from);
    }
    found.length = length;
    return found;
  }
};

/// The four bytes that begin with byte `rotation` of `length` bytes, 1, 2 or 4, which repeat.
PENSTOCK_HD std::uint32_t repeated_word(std::uint32_t bytes, std::uint32_t length, std::uint32_t rotation) {
  if (length == 1) bytes = (bytes & 0xFF) * 0x01010101u;
  if (length == 2) bytes = (bytes & 0xFFFF) * 0x00010001u;
  return shift_right(bytes, bytes, 8 * rotation);
}

}  // namespace penstock::zstd
