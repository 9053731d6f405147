// The bits of a DEFLATE stream.
#pragma once
#include <cstdint>

#include "device/portable.hpp"

namespace penstock::deflate {

/// Bits of the input, the first one lowest.  Beyond the end come zeros; `used` tells.
struct Bits {
  std::uint64_t held;
  std::uint32_t count;  ///< how many of `held`
  std::uint32_t at;     ///< byte of the input that comes after them
  std::uint32_t ahead;  ///< the word there, loaded before it is wanted

  PENSTOCK_HD void start(const std::uint8_t* in, std::uint32_t size, std::uint32_t from) {
    held = 0;
    count = 0;
    at = from;
    while (misalignment(in + at, 4) != 0) {  // words are read at their alignment
      held |= static_cast<std::uint64_t>(at < size ? in[at] : 0) << count;
      count += 8;
      ++at;
    }
    ahead = word(in, size);
  }
  /// At least 32 bits after it.
  PENSTOCK_HD void fill(const std::uint8_t* in, std::uint32_t size) {
    if (count >= 32) return;
    held |= static_cast<std::uint64_t>(ahead) << count;
    count += 32;
    at += 4;
    ahead = word(in, size);
  }
  PENSTOCK_HD std::uint32_t peek() const { return static_cast<std::uint32_t>(held); }
  PENSTOCK_HD void drop(std::uint32_t n) {
    held >>= n;
    count -= n;
  }
  /// n: 0 to 31; call fill before.
  PENSTOCK_HD std::uint32_t take(std::uint32_t n) {
    const std::uint32_t value = peek() & ((1u << n) - 1);
    drop(n);
    return value;
  }
  /// The first byte of which nothing is used.
  [[nodiscard]] PENSTOCK_HD std::uint32_t next_byte() const { return at - count / 8; }
  /// Whether more was used than there is.
  [[nodiscard]] PENSTOCK_HD bool overrun(std::uint32_t size) const { return next_byte() > size; }

 private:
  /// The word at `at`, zeros beyond the end.
  [[nodiscard]] PENSTOCK_HD std::uint32_t word(const std::uint8_t* in, std::uint32_t size) const {
    if (at + 4 <= size) [[likely]]
      return load_aligned<std::uint32_t>(in + at);
    std::uint32_t value = 0;
    PENSTOCK_NO_UNROLL  // the loop over symbols must stay short: one warp waits for its instructions, too
        for (std::uint32_t k = 0; k < 4 && at + k < size; ++k) value |=
        static_cast<std::uint32_t>(in[at + k]) << (8 * k);
    return value;
  }
};

}  // namespace penstock::deflate
