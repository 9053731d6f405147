// Encoded bytes, and bit streams that are read from their end (RFC 8878, 4.1 and 4.2.2).
#pragma once
#include <cstdint>

#include "device/portable.hpp"

namespace penstock::zstd {

/// Bytes with their number.  A byte beyond the end reads as 0; callers compare positions with `size`.
struct ByteRange {
  const std::uint8_t* data = nullptr;
  std::uint32_t size = 0;

  PENSTOCK_HD std::uint32_t byte(std::uint32_t at) const { return at < size ? assume_global(data)[at] : 0; }
  /// `bytes`, at most 4, as a little-endian number.
  PENSTOCK_HD std::uint32_t little(std::uint32_t at, std::uint32_t bytes) const {
    std::uint32_t value = 0;
    for (std::uint32_t k = 0; k < bytes; ++k) value |= byte(at + k) << (8 * k);
    return value;
  }
  PENSTOCK_HD bool holds(std::uint32_t at, std::uint32_t bytes) const { return at <= size && bytes <= size - at; }
};

/// The aligned 32-bit word `index` of what begins at `base`, a multiple of 4; 0 for what is outside [0, limit) bytes.
PENSTOCK_HD std::uint32_t word_or_zero(const std::uint8_t* base, std::int32_t index, std::uint32_t limit) {
  if (index < 0) return 0;
  const std::uint32_t at = static_cast<std::uint32_t>(index) * 4;
  if (at + 4 <= limit) return load_aligned<std::uint32_t>(assume_global(base) + at);
  std::uint32_t value = 0;
  PENSTOCK_NO_UNROLL
  for (std::uint32_t k = 0; k < 4; ++k)
    if (at + k < limit) value |= static_cast<std::uint32_t>(assume_global(base)[at + k]) << (8 * k);
  return value;
}

/// A stream whose first bits are at its end, below the highest bit that is set in its last byte.
///
/// Bits are addressed by position: no buffer is refilled on a condition.  `position` is the number of bits between the
/// base and the next bit to read; a window is the 64 bits below it, from three aligned words.  A chunk has 12 bytes or
/// more in front of every stream (frame, block and section headers), so the two words in front of the base exist; words
/// from `guard` on may reach beyond the chunk.
struct BackwardBits {
  const std::uint8_t* base = nullptr;  ///< the stream's first byte or up to 3 before it; a multiple of 4
  std::uint32_t limit = 0;             ///< bytes of the chunk from there on
  std::int32_t begin = 0;              ///< the stream's lowest bit
  std::int32_t position = 0;
  std::int32_t guard = 0;
  std::uint64_t window = 0;

  /// The stream is `bytes` at `at`.  False when it is empty or its last byte is 0.
  PENSTOCK_HD bool open(ByteRange in, std::uint32_t at, std::uint32_t bytes) {
    if (bytes == 0 || in.byte(at + bytes - 1) == 0) return false;
    const std::uint32_t skew = misalignment(in.data + at, 4), last = skew + bytes - 1;
    base = in.data + at - skew;
    limit = in.size - at + skew;
    begin = static_cast<std::int32_t>(8 * skew);
    position = static_cast<std::int32_t>(8 * last + high_bit(in.byte(at + bytes - 1)));
    // With less than a word from the base on, also a position that has become negative is near the end.
    guard = limit < 4 ? INT32_MIN : static_cast<std::int32_t>(limit / 4);
    return true;
  }
  /// Bits not yet read; negative when more were read than there are (they read as 0 or as what lies in front).
  [[nodiscard]] PENSTOCK_HD std::int32_t left() const { return position - begin; }
  [[nodiscard]] PENSTOCK_HD bool near_end() const { return (position >> 5) >= guard; }
  /// Loads the window; not near_end().
  PENSTOCK_HD void load() {
    const std::int32_t low = (position > 0 ? position : 0) - 64;
    const std::uint8_t* at = assume_global(base) + 4 * static_cast<std::int64_t>(low >> 5);
    fill(load_aligned<std::uint32_t>(at), load_aligned<std::uint32_t>(at + 4), load_aligned<std::uint32_t>(at + 8),
         low);
  }
  PENSTOCK_HD void load_near_end() {
    const std::int32_t low = position - 64, word = low >> 5;
    fill(word_or_zero(base, word, limit), word_or_zero(base, word + 1, limit), word_or_zero(base, word + 2, limit),
         low);
  }
  [[nodiscard]] PENSTOCK_HD std::uint32_t peek(std::uint32_t bits) const {
    return static_cast<std::uint32_t>((window >> 1) >> (63 - bits));
  }
  PENSTOCK_HD void skip(std::uint32_t bits) {
    window <<= bits;
    position -= static_cast<std::int32_t>(bits);
  }

 private:
  PENSTOCK_HD void fill(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::int32_t low) {
    const auto shift = static_cast<std::uint32_t>(low);
    window = static_cast<std::uint64_t>(shift_right(b, c, shift)) << 32 | shift_right(a, b, shift);
  }
};

}  // namespace penstock::zstd
