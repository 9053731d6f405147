// A decoded sequence in 8 bytes, and offsets whose value is not known yet.
//
// Blocks are decoded side by side, but a block may begin with offsets that the block before it leaves behind (the
// repeated offsets).  So a chain of sequences calculates with symbols: "repeated offset k at the beginning of this
// block, minus m".  A symbol is a number just below 2^30, one range for each k, counting down with m: taking one off is
// the same operation for symbols and for known offsets.
#pragma once
#include <cstdint>

#include "codec/zstd/decode/workspace.hpp"

namespace penstock::zstd {

inline constexpr std::uint32_t kSymbols = 1u << 17;  ///< of one k; a block has fewer sequences than that
inline constexpr std::uint32_t kHighestSymbol = (1u << 30) - 1;
inline constexpr std::uint32_t kLowestSymbol = kHighestSymbol + 1 - 3 * kSymbols;
static_assert(kMaxChunkBytes < kLowestSymbol);

PENSTOCK_HD constexpr std::uint32_t repeat_symbol(std::uint32_t k) { return kHighestSymbol - k * kSymbols; }

/// The offset that a number stands for, 0 when it is none; `repeat`: the repeated offsets at the block's beginning.
PENSTOCK_HD std::uint32_t known_offset(std::uint32_t number, const std::uint32_t* repeat) {
  if (number < kLowestSymbol) return number;
  const std::uint32_t down = kHighestSymbol - number, k = down / kSymbols, less = down % kSymbols;
  const std::uint32_t offset = k == 0 ? repeat[0] : k == 1 ? repeat[1] : repeat[2];
  return less < offset ? offset - less : 0;
}

// A record holds where the sequence begins in its block's output and literals, and its offset.  Both beginnings are
// below 2^17: the match that follows has 3 bytes or more of a block of at most 2^17.  Only where the last sequence ends
// can be 2^17, which is kept as 0.
PENSTOCK_HD std::uint64_t pack_sequence(std::uint32_t output, std::uint32_t literals, std::uint32_t offset) {
  return output | static_cast<std::uint64_t>(literals) << 17 | static_cast<std::uint64_t>(offset) << 34;
}
PENSTOCK_HD std::uint32_t packed_output(std::uint64_t record) { return static_cast<std::uint32_t>(record) & 0x1FFFF; }
PENSTOCK_HD std::uint32_t packed_literals(std::uint64_t record) {
  return static_cast<std::uint32_t>(record >> 17) & 0x1FFFF;
}
PENSTOCK_HD std::uint32_t packed_offset(std::uint64_t record) { return static_cast<std::uint32_t>(record >> 34); }

/// Bytes of output from a sequence, which begins at `begin`, to a later record.
PENSTOCK_HD std::uint32_t output_between(std::uint32_t begin, std::uint64_t later) {
  return ((packed_output(later) - begin - 1) & 0x1FFFF) + 1;
}

}  // namespace penstock::zstd
