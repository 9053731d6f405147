// The codes of a sequence: values, extra bits and default distributions (RFC 8878, 3.1.1.3.2.1.1 and 3.1.1.3.2.2).
#pragma once
#include <cstdint>

#include "codec/zstd/decode/frame.hpp"

namespace penstock::zstd {

PENSTOCK_HD std::uint32_t code_symbols(int code) { return code == kLiteralLength ? 36 : code == kOffset ? 32 : 53; }
PENSTOCK_HD std::uint32_t code_max_log(int code) { return code == kOffset ? 8 : 9; }

// Where the table of a code lies among the words of a block's three tables.
inline constexpr std::uint32_t kOffsetTable = 512, kMatchTable = 768, kTableWords = 1280;
PENSTOCK_HD std::uint32_t table_begin(int code) {
  return code == kLiteralLength ? 0 : code == kOffset ? kOffsetTable : kMatchTable;
}

PENSTOCK_HD std::uint32_t literal_extra(std::uint32_t symbol) {
  return symbol < 16 ? 0 : symbol < 20 ? 1 : symbol < 22 ? 2 : symbol < 24 ? 3 : symbol == 24 ? 4 : symbol - 19;
}
PENSTOCK_HD std::uint32_t match_extra(std::uint32_t symbol) {
  return symbol < 32    ? 0
         : symbol < 36  ? 1
         : symbol < 38  ? 2
         : symbol < 40  ? 3
         : symbol < 42  ? 4
         : symbol == 42 ? 5
                        : symbol - 36;
}
/// Bits that follow a symbol of a code.
PENSTOCK_HD std::uint32_t extra_bits(int code, std::uint32_t symbol) {
  return code == kLiteralLength ? literal_extra(symbol) : code == kOffset ? symbol : match_extra(symbol);
}
/// The least literal length of a symbol.
PENSTOCK_HD std::uint32_t literal_base(std::uint32_t symbol) {
  std::uint32_t value = symbol < 16 ? symbol : 16;
  for (std::uint32_t s = 16; s < symbol; ++s) value += 1u << literal_extra(s);
  return value;
}
/// The least match length of a symbol.
PENSTOCK_HD std::uint32_t match_base(std::uint32_t symbol) {
  std::uint32_t value = 3 + (symbol < 32 ? symbol : 32);
  for (std::uint32_t s = 32; s < symbol; ++s) value += 1u << match_extra(s);
  return value;
}

// The predefined tables.
PENSTOCK_HD std::uint32_t default_symbols(int code) { return code == kLiteralLength ? 36 : code == kOffset ? 29 : 53; }
PENSTOCK_HD std::uint32_t default_log(int code) { return code == kOffset ? 5 : 6; }
PENSTOCK_HD int default_count(int code, std::uint32_t symbol) {
  if (code == kLiteralLength) {
    if (symbol == 0) return 4;
    if (symbol == 1 || symbol == 25) return 3;
    if (symbol >= 32) return -1;
    return (symbol >= 13 && symbol <= 15) || symbol >= 27 ? 1 : 2;
  }
  if (code == kOffset) return symbol >= 24 ? -1 : symbol >= 6 && symbol <= 8 ? 2 : 1;
  if (symbol >= 46) return -1;
  if (symbol == 1) return 4;
  if (symbol == 2) return 3;
  return symbol >= 3 && symbol <= 8 ? 2 : 1;
}

}  // namespace penstock::zstd
