// Canonical Huffman codes of DEFLATE (RFC 1951, section 3.2.2): from the lengths of the codes to tables, by a warp.
#pragma once
#include <cstdint>

#include "device/portable.hpp"

namespace penstock::deflate {

inline constexpr std::uint32_t kMaxCode = 15;

/// Codes that fit kBits are looked up at once; longer ones are found by their length.
template <std::uint32_t kSymbols, std::uint32_t kBits>
struct Code {
  static constexpr std::uint32_t max_symbols = kSymbols;
  static constexpr std::uint32_t bits = kBits;
  std::uint16_t lookup[1u << kBits];  ///< next bits -> symbol * 16 + length; 0: longer, or no code
  std::uint16_t symbols[kSymbols];    ///< by length, then by value
  std::uint16_t count[kMaxCode + 1];
  std::uint16_t first[kMaxCode + 1];   ///< code of the first symbol of this length
  std::uint16_t offset[kMaxCode + 1];  ///< where it stands in `symbols`
};

/// Which sets of lengths make a code, as zlib has it: never too many; too few only for one code of one bit, or none.
enum class Incomplete : std::uint8_t { never, one_code };

/// Makes the tables of `n` symbols with these lengths (0 to 15).  False when they make no code.
template <class Warp, class CodeT>
PENSTOCK_HD bool build(const Warp& warp, const std::uint8_t* lengths, std::uint32_t n, Incomplete incomplete,
                       CodeT& code) {
  warp.for_each(kMaxCode + 1, [&](std::uint32_t length) {
    std::uint32_t count = 0;
    PENSTOCK_NO_UNROLL
    for (std::uint32_t s = 0; s < n; ++s) count += lengths[s] == length ? 1 : 0;
    code.count[length] = static_cast<std::uint16_t>(count);
  });
  // The same sums in every lane; each writes what belongs to its length.
  std::int32_t left = 1;
  std::uint32_t first = 0, offset = 0, longest = 0;
  PENSTOCK_NO_UNROLL
  for (std::uint32_t length = 1; length <= kMaxCode; ++length) {
    const std::uint32_t count = code.count[length];
    left = left * 2 - static_cast<std::int32_t>(count);
    if (left < 0) return false;
    first *= 2;
    warp.each_lane([&](std::uint32_t lane) {
      if (lane != length) return;
      code.first[length] = static_cast<std::uint16_t>(first);
      code.offset[length] = static_cast<std::uint16_t>(offset);
    });
    first += count;
    offset += count;
    if (count != 0) longest = length;
  }
  if (left > 0 && (incomplete == Incomplete::never || longest > 1)) return false;
  const std::uint32_t coded = offset;
  warp.for_each(kMaxCode + 1, [&](std::uint32_t length) {
    if (length == 0 || code.count[length] == 0) return;
    std::uint32_t at = code.offset[length];
    PENSTOCK_NO_UNROLL
    for (std::uint32_t s = 0; s < n; ++s)
      if (lengths[s] == length) code.symbols[at++] = static_cast<std::uint16_t>(s);
  });
  warp.for_each(1u << CodeT::bits, [&](std::uint32_t i) { code.lookup[i] = 0; });
  warp.for_each(coded, [&](std::uint32_t k) {
    const std::uint32_t symbol = code.symbols[k], length = lengths[symbol];
    if (length > CodeT::bits) return;
    const std::uint32_t value = code.first[length] + (k - code.offset[length]);
    const std::uint32_t begin = reverse_bits(value) >> (32 - length);
    PENSTOCK_NO_UNROLL
    for (std::uint32_t i = begin; i < 1u << CodeT::bits; i += 1u << length)
      code.lookup[i] = static_cast<std::uint16_t>(symbol * 16 + length);
  });
  return true;
}

/// Symbol * 16 + length for the next bits (the first one lowest); 0: no code begins so.
template <class CodeT>
PENSTOCK_HD std::uint32_t find(const CodeT& code, std::uint32_t next) {
  const std::uint32_t quick = code.lookup[next & ((1u << CodeT::bits) - 1)];
  if (quick != 0) [[likely]]
    return quick;
  const std::uint32_t reversed = reverse_bits(next) >> (32 - kMaxCode);
  PENSTOCK_NO_UNROLL
  for (std::uint32_t length = CodeT::bits + 1; length <= kMaxCode; ++length) {
    const std::uint32_t index = (reversed >> (kMaxCode - length)) - code.first[length];
    if (index < code.count[length]) return code.symbols[code.offset[length] + index] * 16u + length;
  }
  return 0;
}

}  // namespace penstock::deflate
