// From values of a sequence to their codes, and the predefined tables (RFC 8878, 3.1.1.3.2): the encoder's side of
// codec/zstd/decode/codes.hpp.
#pragma once
#include <cstdint>

#include "codec/zstd/decode/codes.hpp"
#include "codec/zstd/encode/fse.hpp"

namespace penstock::zstd {

/// The code of a literal length, of a match length (3 and up), each at most 65535 + 3.
PENSTOCK_HD std::uint32_t literal_code(std::uint32_t length) {
  if (length < 16) return length;
  if (length >= 64) return high_bit(length) + 19;
  if (length < 24) return 16 + (length - 16) / 2;
  if (length < 32) return 20 + (length - 24) / 4;
  return length < 48 ? 22 + (length - 32) / 8 : 24;
}
PENSTOCK_HD std::uint32_t match_code(std::uint32_t length) {
  const std::uint32_t value = length - 3;
  if (value < 32) return value;
  if (value >= 128) return high_bit(value) + 36;
  if (value < 40) return 32 + (value - 32) / 2;
  if (value < 48) return 36 + (value - 40) / 4;
  if (value < 64) return 38 + (value - 48) / 8;
  return value < 96 ? 40 + (value - 64) / 16 : 42;
}

/// The predefined tables as an encoder needs them: a parameter of kernels.
struct PredefinedCoders {
  FseCoder<36, 6> literal;
  FseCoder<29, 5> offset;
  FseCoder<53, 6> match;

  static PredefinedCoders make() {
    PredefinedCoders coders{};
    std::int16_t counts[53];
    const auto fill = [&](int code) {
      for (std::uint32_t s = 0; s < default_symbols(code); ++s)
        counts[s] = static_cast<std::int16_t>(default_count(code, s));
      return counts;
    };
    coders.literal.build(fill(kLiteralLength), 36, 6);
    coders.offset.build(fill(kOffset), 29, 5);
    coders.match.build(fill(kMatchLength), 53, 6);
    return coders;
  }
};

}  // namespace penstock::zstd
