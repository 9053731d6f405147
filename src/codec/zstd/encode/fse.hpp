// Finite state entropy: the encoder's side of codec/zstd/decode/fse.hpp (RFC 8878, 4.1).
#pragma once
#include <cstdint>

#include "codec/zstd/decode/fse.hpp"
#include "codec/zstd/encode/writer.hpp"

namespace penstock::zstd {

/// The states of each symbol in a table of 1 << log, in order: those of symbol s are state[first[s]] and on.
template <std::uint32_t kSymbols, std::uint32_t kMaxLog>
struct FseCoder {
  std::uint32_t log;
  std::uint8_t first[kSymbols];
  std::uint8_t share[kSymbols];  ///< how many
  std::uint8_t state[1 << kMaxLog];

  /// counts: shares that make 1 << log, -1 for "less than one"; used up.  The places are those of build_fse_table.
  PENSTOCK_HD void build(const std::int16_t* counts, std::uint32_t symbols, std::uint32_t table_log) {
    log = table_log;
    const std::uint32_t size = 1u << log, mask = size - 1, step = (size >> 1) + (size >> 3) + 3;
    std::uint8_t symbol_at[1 << kMaxLog] = {};
    std::uint32_t high = size, begin = 0;
    for (std::uint32_t s = 0; s < symbols; ++s) {
      share[s] = static_cast<std::uint8_t>(counts[s] == -1 ? 1 : counts[s]);
      first[s] = static_cast<std::uint8_t>(begin);
      begin += share[s];
      if (counts[s] == -1) symbol_at[--high] = static_cast<std::uint8_t>(s);
    }
    std::uint32_t at = 0;
    for (std::uint32_t s = 0; s < symbols; ++s)
      for (std::int32_t k = 0; k < counts[s]; ++k) {
        symbol_at[at] = static_cast<std::uint8_t>(s);
        do at = (at + step) & mask;
        while (at >= high);
      }
    std::uint8_t seen[kSymbols] = {};
    for (std::uint32_t i = 0; i < size; ++i) {
      const std::uint32_t s = symbol_at[i];
      state[first[s] + seen[s]++] = static_cast<std::uint8_t>(i);
    }
  }
  /// The state to end a stream with: the decoder begins there.  Of those of the symbol the one with most bits.
  [[nodiscard]] PENSTOCK_HD std::uint32_t begin(std::uint32_t symbol) const { return state[first[symbol]]; }
  /// Puts a symbol in front of the one whose state is `next`; the new state.
  PENSTOCK_HD std::uint32_t put(BitWriter& out, std::uint32_t symbol, std::uint32_t next) const {
    const std::uint32_t full = next + (1u << log), count = share[symbol];
    std::uint32_t bits = log - high_bit(count);
    if (full >> bits < count) --bits;
    out.put(full, bits);
    return state[first[symbol] + (full >> bits) - count];
  }
};

/// Writes the description of a distribution (4.1.1) without shares of less than one.
PENSTOCK_HD void put_distribution(BitWriter& out, const std::int16_t* counts, std::uint32_t symbols,
                                  std::uint32_t log) {
  out.put(log - 5, 4);
  std::int32_t left = 1 << log;
  for (std::uint32_t s = 0; s < symbols && left > 0;) {
    const auto room = static_cast<std::uint32_t>(left) + 1;
    const std::uint32_t bits = high_bit(room) + 1, half = 1u << (bits - 1), spare = 2 * half - 1 - room;
    const std::uint32_t value = static_cast<std::uint32_t>(counts[s] + 1);
    if (value < spare)
      out.put(value, bits - 1);
    else
      out.put(value < half ? value : value + spare, bits);
    left -= counts[s];
    if (counts[s++] != 0) continue;
    std::uint32_t zeros = 0;
    while (s + zeros < symbols && counts[s + zeros] == 0) ++zeros;
    s += zeros;
    for (; zeros >= 3; zeros -= 3) out.put(3, 2);
    out.put(zeros, 2);
  }
  out.pad();
}

}  // namespace penstock::zstd
