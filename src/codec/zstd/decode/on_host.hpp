// All passes over a batch on the host, with any two teams: one of 32 lanes, like a warp, and one of any number, like a
// block of threads.  For tests and fuzzing: on the CPU, libzstd is quicker.
#pragma once
#include <cstring>
#include <memory>

#include "codec/zstd/decode/checksum.hpp"
#include "codec/zstd/decode/execute.hpp"
#include "codec/zstd/decode/layout.hpp"
#include "codec/zstd/decode/literals.hpp"
#include "codec/zstd/decode/parse.hpp"
#include "codec/zstd/decode/sequences.hpp"

namespace penstock::zstd {

/// How many blocks a warp takes at a time, and the most bytes of a tile.
template <std::uint32_t LiteralBlocks, std::uint32_t SequenceBlocks, std::uint32_t TileBytes>
struct HostShape {};

/// Decodes a batch in host memory.  Errors: those of lay_out.
template <std::uint32_t LiteralBlocks, std::uint32_t SequenceBlocks, std::uint32_t TileBytes, class Warp, class Block>
Status decode_on_host(HostShape<LiteralBlocks, SequenceBlocks, TileBytes>, const Warp& warp, const Block& team,
                      const Batch& batch, std::span<std::byte> scratch) {
  PENSTOCK_ASSIGN(const Layout layout, lay_out(batch, scratch));
  const Workspace& ws = layout.workspace;
  std::memset(ws.pages_taken, 0, layout.counter_bytes);
  const auto literals = std::make_unique_for_overwrite<LiteralShared<LiteralBlocks>>();
  const auto sequences = std::make_unique_for_overwrite<SequenceShared<SequenceBlocks>>();
  const auto tile = std::make_unique_for_overwrite<TileShared<Block::lanes, TileBytes>>();
  const auto checksum = std::make_unique_for_overwrite<ChecksumShared<Warp::lanes>>();
  for (std::uint32_t chunk = 0; chunk < ws.chunks; ++chunk) parse_chunk(ws, chunk);
  for (std::uint32_t slice = 0; slice < ws.slices; ++slice) {
    for (std::uint32_t chunk = 0; chunk < ws.chunks; ++chunk) list_blocks(ws, slice, chunk);
    decode_literals<LiteralBlocks>(warp, ws, slice, *literals);
    decode_sequences<SequenceBlocks>(warp, ws, slice, *sequences);
    for (std::uint32_t chunk = 0; chunk < ws.chunks; ++chunk) execute_chunk(team, ws, slice, chunk, *tile);
    for (std::uint32_t chunk = 0; chunk < ws.chunks; ++chunk) verify_chunk(warp, ws, slice, chunk, *checksum);
  }
  return {};
}

}  // namespace penstock::zstd
