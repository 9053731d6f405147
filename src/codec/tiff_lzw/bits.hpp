// The codes of LZW in a strip or tile.
//
// Widths hang on nothing but how many codes have come since the last Clear, so the bits of the next codes are known
// before any of them is.
#pragma once
#include <cstdint>

#include "codec/status.hpp"
#include "device/portable.hpp"

namespace penstock::tiff {

inline constexpr std::uint32_t kLzwClear = 256, kLzwEnd = 257, kLzwFirst = 258;
inline constexpr std::uint32_t kLzwEntries = 4096 - kLzwFirst;
/// Codes after which the table is full, with the one in whose first byte its last string ends: from here on widths
/// stay.
inline constexpr std::uint32_t kLzwSteady = kLzwEntries + 1;
/// Codes between two Clears of an encoder that fills its table, as libtiff's does.
inline constexpr std::uint32_t kLzwFullSegment = 3836;
/// Bits of the input and places in the output are kept in 32 bits.
inline constexpr std::uint64_t kLzwMaxIn = 1U << 28, kLzwMaxOut = 1U << 30;

/// Bits from a Clear to code `n` after it, and the bits of that code; `late`: 1 in the old style, whose codes grow one
/// code later.
PENSTOCK_HD std::uint32_t lzw_bits_before(std::uint32_t n, std::uint32_t late) {
  const auto above = [n, late](std::uint32_t k) { return n > k + late ? n - k - late : 0; };
  return 9 * n + above(254) + above(766) + above(1790);
}
PENSTOCK_HD std::uint32_t lzw_width(std::uint32_t n, std::uint32_t late) {
  return 9U + (n >= 254 + late ? 1U : 0U) + (n >= 766 + late ? 1U : 0U) + (n >= 1790 + late ? 1U : 0U);
}

PENSTOCK_HD std::uint32_t reverse_bytes(std::uint32_t word) {
#if defined(__CUDA_ARCH__)
  return __byte_perm(word, 0, 0x0123);
#else
  return __builtin_bswap32(word);
#endif
}

/// Two words of the input, in which the code at bit `at` lies.
struct LzwWords {
  std::uint32_t low = 0, high = 0, at = 0;
};

/// The bytes of a strip or tile as aligned words.  Bits are counted from the first of these; words that reach over an
/// end of the input are put together of bytes, so that nothing outside is read.
template <bool kOldStyle>
struct LzwBits {
  static constexpr std::uint32_t late = kOldStyle ? 1 : 0;
  const std::uint8_t* words;
  std::uint32_t begin, end;  ///< bits, of the input

  PENSTOCK_HD explicit LzwBits(const DecodeTask& task) {
    const auto* const in = assume_global(reinterpret_cast<const std::uint8_t*>(task.in));
    begin = 8 * misalignment(in, 4);
    words = in - begin / 8;
    end = begin + static_cast<std::uint32_t>(task.in_bytes * 8);
  }
  /// Of the input, from a bit that stands behind something.
  [[nodiscard]] PENSTOCK_HD std::uint64_t byte_before(std::uint32_t bit) const { return (bit - begin - 1) / 8; }

  [[nodiscard]] PENSTOCK_HD std::uint32_t word(std::uint32_t index) const {
    const std::uint32_t at = 4 * index;
    if (8 * at >= begin && 8 * at + 32 <= end) return load_aligned<std::uint32_t>(words + at);
    std::uint32_t value = 0;
    PENSTOCK_NO_UNROLL
    for (std::uint32_t b = 0; b < 4; ++b)
      if (8 * (at + b) >= begin && 8 * (at + b) < end) value |= std::uint32_t{words[at + b]} << 8 * b;
    return value;
  }
  [[nodiscard]] PENSTOCK_HD static std::uint32_t code(const LzwWords& from, std::uint32_t width) {
    if constexpr (kOldStyle) return shift_right(from.low, from.high, from.at) & ((1U << width) - 1);
    return shift_left(reverse_bytes(from.high), reverse_bytes(from.low), from.at) >> (32 - width);
  }
  /// The code at a bit, with bits 0 where the input ended.
  [[nodiscard]] PENSTOCK_HD std::uint32_t code_at(std::uint32_t bit, std::uint32_t width) const {
    return code(words_at(bit), width);
  }

  /// Two words with the code at a bit.
  [[nodiscard]] PENSTOCK_HD LzwWords words_at(std::uint32_t bit) const {
    return {word(bit / 32), word(bit / 32 + 1), bit};
  }
  /// The same of a bit whose words are inside as a whole.
  [[nodiscard]] PENSTOCK_HD LzwWords words_inside(std::uint32_t bit) const {
    const std::uint8_t* const from = words + std::uint64_t{bit / 32} * 4;
    return {load_aligned<std::uint32_t>(from), load_aligned<std::uint32_t>(from + 4), bit};
  }
  /// Whether the words of `count` codes from the `n`th on after a Clear at `clear` are sure to be inside.
  [[nodiscard]] PENSTOCK_HD bool holds(std::uint32_t clear, std::uint32_t n, std::uint32_t count) const {
    return (n > 3 || begin == 0 || clear >= 32) && clear + 12 * (n + count) + 64 <= end;
  }
};

/// Whether code `c`, the `n`th after a Clear, is no string that the table has by then.
PENSTOCK_HD bool lzw_stops(std::uint32_t c, std::uint32_t n) {
  return (c | 1) == kLzwEnd || (c >= kLzwFirst && c - kLzwFirst >= n);
}

}  // namespace penstock::tiff
