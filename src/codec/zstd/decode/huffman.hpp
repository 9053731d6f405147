// Huffman trees of literals: their description and the decoding table (RFC 8878, 4.2.1).
#pragma once
#include <cstdint>

#include "codec/zstd/decode/fse.hpp"

namespace penstock::zstd {

inline constexpr std::uint32_t kHuffmanLog = 11;       // the longest code
inline constexpr std::uint32_t kWeightTableLog = 6;    // the largest table of FSE-coded weights
inline constexpr std::uint32_t kMaxWeightsRead = 255;  // that of the last symbol follows from the others

/// The table of one block.  An entry is symbol | code length << 8.
struct HuffmanTable {
  union {
    std::uint16_t entry[1 << kHuffmanLog];
    std::int16_t counts[256];  // while weights are read
  };
  std::uint8_t weight[256];
  std::uint32_t fse[1 << kWeightTableLog];
  std::uint32_t next[kHuffmanLog + 2];  ///< first the number of symbols of a weight, then its next free entry
  std::uint32_t log;
  std::uint32_t described_bytes;  ///< of the tree's description
  std::uint32_t valid;
};

/// Weights in an FSE stream at in[at, end) (4.2.1.2): two states take turns until an update would need bits that are
/// not there.  The number of weights, 0 when something is wrong.
PENSTOCK_HD std::uint32_t read_coded_weights(ByteRange in, std::uint32_t at, std::uint32_t end, HuffmanTable& table) {
  Distribution d{256, kWeightTableLog, 0, 0};
  const std::uint32_t used = read_distribution(in, at, end, d, table.counts);
  // Shares of weights that are never used do no harm; libzstd has memory for so many.
  if (used == 0 || d.symbols > (d.log == kWeightTableLog ? kHuffmanLog + 1 : 92)) return 0;
  build_fse_table(table.fse, table.counts, d.symbols, d.log, [](std::uint32_t) { return 0u; });
  BackwardBits bits;
  if (!bits.open({in.data, end}, at + used, end - at - used)) return 0;
  const auto take = [&](std::uint32_t n) {
    bits.load_near_end();
    const std::uint32_t value = bits.peek(n);
    bits.skip(n);
    return value;
  };
  std::uint32_t state = take(d.log), next = take(d.log), n = 0;
  if (bits.left() < 0) return 0;
  for (;;) {
    if (n + 2 > kMaxWeightsRead) return 0;
    const std::uint32_t entry = table.fse[state];
    table.weight[n++] = static_cast<std::uint8_t>(entry_symbol(entry));
    state = next;
    if (static_cast<std::int32_t>(entry_bits(entry)) > bits.left()) break;
    next = entry_base(entry) + take(entry_bits(entry));
  }
  table.weight[n++] = static_cast<std::uint8_t>(entry_symbol(table.fse[state]));
  return n;
}

/// Reads all weights but the last one's (4.2.1.1) and moves `at` behind the description; their number, 0 when wrong.
PENSTOCK_HD std::uint32_t read_weights(ByteRange in, std::uint32_t& at, std::uint32_t end, HuffmanTable& table) {
  if (at >= end) return 0;
  const std::uint32_t header = in.byte(at++);
  if (header < 128) {
    if (header == 0 || header > end - at) return 0;
    at += header;
    return read_coded_weights(in, at - header, at, table);
  }
  const std::uint32_t n = header - 127, bytes = (n + 1) / 2;
  if (bytes > end - at) return 0;
  for (std::uint32_t k = 0; k < n; ++k)
    table.weight[k] = static_cast<std::uint8_t>(in.byte(at + k / 2) >> (k % 2 == 0 ? 4 : 0) & 15);
  at += bytes;
  return n;
}

/// Makes the table from `n` weights (4.2.1.3): longer codes, which have smaller weights, first.
PENSTOCK_HD bool build_huffman_table(std::uint32_t n, HuffmanTable& table) {
  std::uint32_t total = 0;
  for (std::uint32_t& count : table.next) count = 0;
  for (std::uint32_t k = 0; k < n; ++k) {
    const std::uint32_t weight = table.weight[k];
    if (weight > kHuffmanLog + 1) return false;
    total += 1u << weight >> 1;
    ++table.next[weight];
  }
  if (total == 0) return false;
  const std::uint32_t log = high_bit(total) + 1, rest = (1u << log) - total;
  if (log > kHuffmanLog || (rest & (rest - 1)) != 0) return false;
  table.weight[n] = static_cast<std::uint8_t>(high_bit(rest) + 1);
  ++table.next[table.weight[n]];
  if (table.next[1] < 2 || table.next[1] % 2 != 0) return false;
  std::uint32_t begin = 0;
  for (std::uint32_t weight = 1; weight <= log; ++weight) {
    const std::uint32_t entries = table.next[weight] << (weight - 1);
    table.next[weight] = begin;
    begin += entries;
  }
  for (std::uint32_t symbol = 0; symbol <= n; ++symbol) {
    const std::uint32_t weight = table.weight[symbol];
    if (weight == 0) continue;
    const std::uint32_t at = table.next[weight], entries = 1u << (weight - 1);
    table.next[weight] = at + entries;
    const auto entry = static_cast<std::uint16_t>(symbol | (log + 1 - weight) << 8);
    for (std::uint32_t i = 0; i < entries; ++i) table.entry[at + i] = entry;
  }
  table.log = log;
  return true;
}

/// The whole way from the description at in[at, end) to the table; by one lane.
PENSTOCK_HD_CALLED bool make_huffman_table(ByteRange in, std::uint32_t at, std::uint32_t end, HuffmanTable& table) {
  const std::uint32_t begin = at, n = read_weights(in, at, end, table);
  table.described_bytes = at - begin;
  return n != 0 && build_huffman_table(n, table);
}

}  // namespace penstock::zstd
