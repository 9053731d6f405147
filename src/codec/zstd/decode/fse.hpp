// Finite state entropy: descriptions of distributions and the decoding tables made from them (RFC 8878, 4.1).
#pragma once
#include <cstdint>

#include "codec/zstd/decode/frame.hpp"

namespace penstock::zstd {

/// What may follow, and what was read.
struct Distribution {
  std::uint32_t max_symbols = 0;  ///< one more than the highest symbol that is allowed
  std::uint32_t max_log = 0;      ///< of the table's size
  std::uint32_t log = 0;
  std::uint32_t symbols = 0;
};

/// Reads the description at in[at, end) (4.1.1); the bytes it takes, 0 when it is wrong.  counts[s]: the share of
/// symbol s in a table of 1 << log, -1 for "less than one"; nullptr to skip.
PENSTOCK_HD_CALLED std::uint32_t read_distribution(ByteRange in, std::uint32_t at, std::uint32_t end, Distribution& d,
                                                   std::int16_t* counts) {
  const ByteRange text{in.data + at, end - at};
  std::uint32_t bit = 4;
  d.log = (text.byte(0) & 15) + 5;
  d.symbols = 0;
  if (d.log > d.max_log) return 0;
  std::int32_t left = 1 << d.log;
  while (left > 0) {  // each turn is one symbol
    if (d.symbols >= d.max_symbols) return 0;
    // Numbers below `spare` take one bit less.
    const auto room = static_cast<std::uint32_t>(left) + 1;
    const std::uint32_t bits = high_bit(room) + 1, half = 1u << (bits - 1), spare = 2 * half - 1 - room;
    const std::uint32_t coming = text.little(bit >> 3, 3) >> (bit & 7);
    std::uint32_t value = coming & (half - 1);
    if (value < spare) {
      bit += bits - 1;
    } else {
      value = coming & (2 * half - 1);
      if (value >= half) value -= spare;
      bit += bits;
    }
    const std::int32_t count = static_cast<std::int32_t>(value) - 1;
    left -= count < 0 ? 1 : count;
    if (counts != nullptr) counts[d.symbols] = static_cast<std::int16_t>(count);
    ++d.symbols;
    if (count != 0) continue;
    for (std::uint32_t repeat = 3; repeat == 3;) {  // how many more symbols have no share, two bits at a time
      repeat = text.little(bit >> 3, 2) >> (bit & 7) & 3;
      bit += 2;
      if (bit > 8 * text.size || d.symbols + repeat > d.max_symbols) return 0;
      for (std::uint32_t k = 0; k < repeat; ++k, ++d.symbols)
        if (counts != nullptr) counts[d.symbols] = 0;
    }
  }
  const std::uint32_t used = (bit + 7) / 8;
  return left == 0 && used <= text.size ? used : 0;
}

/// An entry of a decoding table, laid out so that it serves as a shift count and three of them can be added:
///
///   bits 0..7  extra bits of the symbol's value     bits 13..20  symbol
///   bits 8..12 bits of the next state               bits 21..31  4 * base of the next state
///
/// The sums of the extra bits of three entries (63 at most) and of their state bits (26) stay inside their fields.
PENSTOCK_HD std::uint32_t fse_entry(std::uint32_t extra, std::uint32_t bits, std::uint32_t symbol, std::uint32_t base) {
  return extra | bits << 8 | symbol << 13 | base << 23;
}
PENSTOCK_HD std::uint32_t entry_bits(std::uint32_t entry) { return entry >> 8 & 31; }
PENSTOCK_HD std::uint32_t entry_symbol(std::uint32_t entry) { return entry >> 13 & 255; }
PENSTOCK_HD std::uint32_t entry_base(std::uint32_t entry) { return entry >> 23; }

/// Makes the table of 1 << log entries (4.1.1, last part); uses `counts` up.  extra(symbol): the extra bits of its
/// value.
template <class Extra>
PENSTOCK_HD void build_fse_table(std::uint32_t* table, std::int16_t* counts, std::uint32_t symbols, std::uint32_t log,
                                 Extra extra) {
  const std::uint32_t size = 1u << log, mask = size - 1, step = (size >> 1) + (size >> 3) + 3;
  std::uint32_t high = size;  // symbols with less than one share lie above
  for (std::uint32_t s = 0; s < symbols; ++s)
    if (counts[s] == -1) table[--high] = s;
  std::uint32_t at = 0;
  for (std::uint32_t s = 0; s < symbols; ++s) {
    for (std::int32_t k = 0; k < counts[s]; ++k) {
      table[at] = s;
      do at = (at + step) & mask;
      while (at >= high);
    }
    if (counts[s] == -1) counts[s] = 1;
  }
  for (std::uint32_t i = 0; i < size; ++i) {
    const std::uint32_t symbol = table[i], x = static_cast<std::uint32_t>(counts[symbol]++), bits = log - high_bit(x);
    table[i] = fse_entry(extra(symbol), bits, symbol, (x << bits) - size);
  }
}

}  // namespace penstock::zstd
