// The bit stream of a block's sequences on its way through shared memory.
//
// A ring holds 64 words of the stream, from the highest not yet used downwards.  The lane that decodes fills it itself,
// 16 bytes at a time, with loads that it starts a group of sequences ahead.  Bits are addressed by position, so taking
// some has no condition: four words of the ring give the 96 bits below a position, and a sequence takes 89 at most.
#pragma once
#include <cstdint>

#include "codec/zstd/decode/bits.hpp"

namespace penstock::zstd {

inline constexpr std::uint32_t kGroup = 8;  ///< sequences from one filling to the next
inline constexpr std::uint32_t kRingWords = 64;
inline constexpr std::uint32_t kMaxSequenceBits = 89;  ///< 63 of values (31 + 16 + 16) and 26 of states (9 + 9 + 8)
inline constexpr int kGroupWords = (kGroup * kMaxSequenceBits + 31) / 32;  ///< that a group can take
inline constexpr int kGroupBlocks = (kGroupWords + 3) / 4;                 ///< of 16 bytes, to replace them
inline constexpr int kWantedWords = 2 * kGroupWords + 10;  ///< so that a group begins with kGroupWords + 4 or more
static_assert(kWantedWords + 4 <= static_cast<int>(kRingWords));

/// Word j of the stream is at j % kRingWords; the first four once more behind the last.
struct alignas(16) SequenceRing {
  std::uint32_t word[kRingWords + 4];
  Bytes16 first;  ///< the block that the stream begins in, the only one that is not read as it is

  PENSTOCK_HD void put(std::int32_t block, Bytes16 value) {
    const std::uint32_t slot = static_cast<std::uint32_t>(block) % (kRingWords / 4);
    store_aligned(word + 4 * slot, value);
    if (slot == 0) store_aligned(word + kRingWords, value);
  }
};

/// A T at `bytes` behind `base`.
template <class T>
PENSTOCK_HD T at_byte(const void* base, std::uint32_t bytes) {
  return load_aligned<T>(static_cast<const std::uint8_t*>(base) + bytes);
}

/// Where the stream lies, in bits and bytes from `base`, a multiple of 16 at or below its first byte.
struct SequenceStream {
  const std::uint8_t* base;
  std::uint32_t limit;  ///< bytes of the chunk from there on
  std::int32_t begin, end;

  /// The stream is `bytes` at `at`; false when it is empty or its last byte is 0.
  PENSTOCK_HD bool open(ByteRange in, std::uint32_t at, std::uint32_t bytes) {
    const std::uint32_t last = bytes == 0 ? 0 : in.byte(at + bytes - 1);
    if (last == 0) return false;
    const std::uint32_t skew = misalignment(in.data + at, 16);
    base = in.data + at - skew;
    limit = in.size - at + skew;
    begin = static_cast<std::int32_t>(8 * skew);
    end = static_cast<std::int32_t>(8 * (skew + bytes - 1) + high_bit(last));
    return true;
  }
  /// A block that may begin before the stream or end behind the chunk, byte by byte.
  [[nodiscard]] PENSTOCK_HD_CALLED Bytes16 edge(std::int32_t block) const {
    Bytes16 value = {};
    for (std::uint32_t k = 0; k < 16; ++k) {
      const std::uint32_t at = static_cast<std::uint32_t>(block) * 16 + k;
      if (at < static_cast<std::uint32_t>(begin) / 8 || at >= limit) continue;
      const std::uint32_t byte = static_cast<std::uint32_t>(assume_global(base)[at]) << (8 * (k % 4));
      PENSTOCK_UNROLL
      for (std::uint32_t w = 0; w < 4; ++w)
        if (k / 4 == w) value.word[w] |= byte;
    }
    return value;
  }
  /// A block below the one that the stream ends in.
  [[nodiscard]] PENSTOCK_HD Bytes16 load(std::int32_t block) const {
    return block > 0 ? load_aligned<Bytes16>(assume_global(base) + block * 16) : Bytes16{};
  }
  /// Fills the ring from the stream's end downwards; the lowest block in it.
  PENSTOCK_HD std::int32_t fill(SequenceRing& ring) const {
    std::int32_t low = end >> 7;
    ring.first = edge(0);
    ring.put(low, edge(low));
    PENSTOCK_UNROLL
    for (std::uint32_t i = 1; i < kRingWords / 4; ++i) {
      --low;
      ring.put(low, low == 0 ? ring.first : load(low));
    }
    return low;
  }
};

}  // namespace penstock::zstd
