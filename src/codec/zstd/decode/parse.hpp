// Pass 1: headers.  One lane a chunk: what is in it, what its blocks need, and its place in the scratch.
#pragma once
#include "codec/zstd/decode/workspace.hpp"

namespace penstock::zstd {

/// Places that the decoded literals and the sequences of a block take.
PENSTOCK_HD std::uint32_t literal_places(const BlockRecord& block) {
  return block.has_huffman() ? (block.literals + kPlaceBytes - 1) / kPlaceBytes : 0;
}
PENSTOCK_HD std::uint32_t sequence_places(const BlockRecord& block) { return (block.sequences + 1) / 2; }

/// Says what became of a chunk.
PENSTOCK_HD void report(const Workspace& ws, std::uint32_t chunk, Fault fault, std::uint64_t output_bytes) {
  ChunkStatus result;
  result.status = fault.status;
  result.position = fault.position;
  result.output_bytes = output_bytes;
  ws.results[chunk] = result;
}

/// Reads the headers of a chunk and gives it pages.  Pages are bounded by the chunk's decoded size: the headers may not
/// promise more.
PENSTOCK_HD void parse_chunk(const Workspace& ws, std::uint32_t chunk) {
  ChunkState state;
  state.task = ws.tasks[chunk];
  ws.states[chunk] = state;
  std::uint64_t places = 0;
  std::uint32_t blocks = 0;
  if (state.task.in_bytes > kMaxEncodedBytes || state.task.out_bytes > kMaxChunkBytes)
    state.fault.status = DecodeStatus::too_large;
  else
    state.fault =
        walk_frames(ws.input(chunk), static_cast<std::uint32_t>(state.task.out_bytes), [&](const BlockRecord& block) {
          ++blocks;
          state.checksums += (block.flags & kChecksumFollows) != 0 ? 1 : 0;
          places += literal_places(block) + sequence_places(block);
        });
  if (state.fault.status == DecodeStatus::ok) {
    const std::uint64_t filled = (places * kPlaceBytes + kPageBytes - 1) / kPageBytes;
    const std::uint64_t pages = filled > blocks ? filled : blocks == 0 ? 1 : blocks;
    if (pages > max_pages(state.task.out_bytes) || pages > ws.chunk_pages) {
      state.fault.status = DecodeStatus::scratch_too_small;
    } else {
      state.blocks = blocks;
      state.first_page = atomic_add(ws.pages_taken, pages);
      // Only when the batch was said to be smaller than it is.
      if (state.first_page + pages > ws.max_pages()) state.fault.status = DecodeStatus::scratch_too_small;
    }
  }
  ws.states[chunk] = state;
  if (state.fault.status != DecodeStatus::ok) report(ws, chunk, state.fault, 0);
}

/// Writes the records of a chunk of this slice and puts its blocks on the work lists.
PENSTOCK_HD void list_blocks(const Workspace& ws, std::uint32_t slice, std::uint32_t chunk) {
  const ChunkState& state = ws.states[chunk];
  if (!ws.in_slice(state, slice)) return;
  const auto first = static_cast<std::uint32_t>(state.first_page - ws.slice_begin(slice));
  SliceCounters& counters = ws.counters[slice];
  std::uint32_t index = first, place = first * (kPageBytes / kPlaceBytes);
  walk_frames(ws.input(chunk), static_cast<std::uint32_t>(state.task.out_bytes), [&](BlockRecord block) {
    block.chunk = chunk;
    if (block.huffman_block != kNone) block.huffman_block += first;
    for (std::uint32_t& owner : block.table_block)
      if (owner != kNone) owner += first;
    block.sequence_place = place;
    place += sequence_places(block);
    block.literal_place = place;
    place += literal_places(block);
    if (block.has_huffman()) ws.literal_list[atomic_add(&counters.literal_blocks, 1)] = index;
    if (block.sequences != 0) ws.sequence_list[atomic_add(&counters.sequence_blocks, 1)] = index;
    ws.blocks[index++] = block;
  });
}

}  // namespace penstock::zstd
