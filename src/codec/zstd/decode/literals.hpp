// Pass 2a: Huffman-coded literals (RFC 8878, 3.1.1.3.1 and 4.2.2).  A warp takes up to 8 blocks at a time from the
// slice's list: one lane a block makes its table, then up to four lanes a block decode its streams.
#pragma once
#include "codec/zstd/decode/huffman.hpp"
#include "codec/zstd/decode/workspace.hpp"
#include "device/team.hpp"

namespace penstock::zstd {

inline constexpr std::uint32_t kStreams = 4;  ///< lanes that a block has

/// Shared memory of a warp.
template <std::uint32_t Blocks>
struct LiteralShared {
  HuffmanTable table[Blocks];
};

PENSTOCK_HD std::uint32_t next_literal(BackwardBits& bits, const std::uint16_t* entries, std::uint32_t drop) {
  const std::uint32_t entry = entries[static_cast<std::uint32_t>(bits.window >> 32) >> drop];
  bits.skip(entry >> 8);
  return entry & 255;
}

/// Decodes one stream into `n` bytes; false when it does not hold exactly so many.
PENSTOCK_HD bool decode_literal_stream(BackwardBits bits, const HuffmanTable& table, std::uint8_t* to,
                                       std::uint32_t n) {
  const std::uint16_t* entries = table.entry;
  const std::uint32_t drop = 32 - table.log;
  PENSTOCK_NO_UNROLL
  for (; n != 0 && (misalignment(to, 8) != 0 || bits.near_end()); --n) {
    bits.load_near_end();
    *assume_global(to++) = static_cast<std::uint8_t>(next_literal(bits, entries, drop));
  }
  PENSTOCK_NO_UNROLL
  for (; n >= 8; n -= 8, to += 8) {
    std::uint32_t half[2] = {0, 0};
    PENSTOCK_UNROLL
    for (int k = 0; k < 8; ++k) {
      if (k % 4 == 0) bits.load();  // four literals take 44 bits at most
      half[k / 4] |= next_literal(bits, entries, drop) << (8 * (k % 4));
    }
    store_aligned<std::uint64_t>(assume_global(to), half[0] | static_cast<std::uint64_t>(half[1]) << 32);
  }
  PENSTOCK_NO_UNROLL
  for (; n != 0; --n) {
    bits.load();
    *assume_global(to++) = static_cast<std::uint8_t>(next_literal(bits, entries, drop));
  }
  return bits.left() == 0;
}

/// Where a stream lies and what it becomes.
struct LiteralStream {
  std::uint32_t begin = 0, bytes = 0;
  std::uint32_t output = 0, literals = 0;
};

/// Finds stream `k` of a block whose streams, behind the tree, are `bytes` at `begin`; false when the sizes in front of
/// four streams cannot be.
PENSTOCK_HD bool find_literal_stream(ByteRange in, const BlockRecord& block, std::uint32_t begin, std::uint32_t bytes,
                                     std::uint32_t k, LiteralStream& stream) {
  if (block.literal_streams == 1) {
    stream = {begin, bytes, 0, block.literals};
    return true;
  }
  constexpr std::uint32_t kSizes = 6;  // three of two bytes
  const std::uint32_t n = block.literals, quarter = (n + 3) / 4;
  // libzstd wants six literals.
  if (bytes < kSizes || n < 6 || 3 * quarter > n) return false;
  const std::uint32_t size[3] = {in.little(begin, 2), in.little(begin + 2, 2), in.little(begin + 4, 2)};
  const std::uint32_t three = size[0] + size[1] + size[2];
  if (three > bytes - kSizes) return false;
  stream.begin = begin + kSizes + (k > 0 ? size[0] : 0) + (k > 1 ? size[1] : 0) + (k > 2 ? size[2] : 0);
  stream.bytes = k == 0 ? size[0] : k == 1 ? size[1] : k == 2 ? size[2] : bytes - kSizes - three;
  stream.output = k * quarter;
  stream.literals = k < 3 ? quarter : n - 3 * quarter;
  return true;
}

/// Stream `k` of a block, by one lane.
PENSTOCK_HD DecodeStatus decode_literal_part(const Workspace& ws, const BlockRecord& block, const HuffmanTable& table,
                                             std::uint32_t k) {
  if (table.valid == 0) return DecodeStatus::bad_table;
  const ByteRange in = ws.input(block.chunk);
  const std::uint32_t tree = block.literal_type == LiteralType::huffman ? table.described_bytes : 0;
  LiteralStream stream;
  BackwardBits bits;
  if (!find_literal_stream(in, block, block.literals_begin + tree, block.literals_packed - tree, k, stream) ||
      !bits.open(in, stream.begin, stream.bytes))
    return DecodeStatus::bad_stream;
  std::uint8_t* const to = ws.at(block.literal_place);
  // Who executes reads literals in aligned words: the last one is filled up.
  if (k + 1 == block.literal_streams)
    for (std::uint32_t i = block.literals; i % 4 != 0; ++i) *assume_global(to + i) = 0;
  const bool good = decode_literal_stream(bits, table, to + stream.output, stream.literals);
  return good ? DecodeStatus::ok : DecodeStatus::bad_stream;
}

/// All literals of a slice, together with the other warps that run this.
template <std::uint32_t Blocks, class Team>
PENSTOCK_HD void decode_literals(const Team& team, const Workspace& ws, std::uint32_t slice,
                                 LiteralShared<Blocks>& shared) {
  static_assert(Team::lanes >= Blocks * kStreams);
  SliceCounters& counters = ws.counters[slice];
  const std::uint32_t total = counters.literal_blocks;
  for (;;) {
    const std::uint32_t first = team_take(team, &counters.literal_blocks_taken, Blocks);
    if (first >= total) return;
    const std::uint32_t n = total - first < Blocks ? total - first : Blocks;
    team.for_each(n, [&](std::uint32_t i) {
      const BlockRecord& block = ws.blocks[ws.literal_list[first + i]];
      const BlockRecord& owner = ws.blocks[block.huffman_block];
      HuffmanTable& table = shared.table[i];
      table.valid = make_huffman_table(ws.input(block.chunk), owner.literals_begin,
                                       owner.literals_begin + owner.literals_packed, table)
                        ? 1
                        : 0;
    });
    team.each_lane([&](std::uint32_t lane) {
      const std::uint32_t i = lane / kStreams, k = lane % kStreams;
      if (i >= n) return;
      BlockRecord& block = ws.blocks[ws.literal_list[first + i]];
      if (k >= block.literal_streams) return;
      const DecodeStatus status = decode_literal_part(ws, block, shared.table[i], k);
      // Streams of one block can differ only in whether they are bad.
      if (status != DecodeStatus::ok) block.literal_status = status;
    });
  }
}

}  // namespace penstock::zstd
