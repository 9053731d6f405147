// Where the passes keep what they tell each other: the scratch of a batch, and how it is shared out.
//
// The scratch holds, for the whole batch, a state for each chunk and counters; and, for one slice of the batch at a
// time, block records, two work lists and an arena of decoded literals and sequences.  The arena is given out in
// pages.  A page also pays for one block record, so one number says what a chunk takes: its pages, the larger of what
// its literals and sequences fill and its number of blocks.
//
// Chunks get consecutive pages of an imagined long arena, which is cut into slices of equal length.  A chunk belongs
// to the slice in which it begins and may reach beyond its end, which is why the real arena is larger than a slice by
// what one chunk can take.  What fits into the real arena is one slice.
#pragma once
#include <cstddef>
#include <cstdint>

#include "codec/zstd/decode/frame.hpp"
#include "codec/zstd/device.hpp"

namespace penstock::zstd {

inline constexpr std::uint32_t kPageBytes = 2048;
inline constexpr std::uint32_t kPlaceBytes = 16;     ///< unit of places in the arena
inline constexpr std::uint32_t kMaxPages = 1 << 24;  ///< in a slice: places have 32 bits, also behind a last chunk

/// A sequence's record keeps offsets of up to about 2^30 (sequences.hpp).
inline constexpr std::uint64_t kMaxChunkBytes = (std::uint64_t{1} << 30) - (1 << 19);
inline constexpr std::uint64_t kMaxEncodedBytes = 0x7FFFFFFF;  ///< positions have 32 bits

/// Pages that chunks of `bytes` may take.  Literals take a byte for each of output, sequences 8 for 3, and both are
/// rounded up for each block; the spare ones, for each chunk, let small chunks have some blocks.
inline constexpr std::uint64_t kSparePages = 16;
PENSTOCK_HD constexpr std::uint64_t max_pages(std::uint64_t bytes) {
  return (bytes * 8 / 3 + bytes / 32) / kPageBytes + kSparePages;
}

/// What becomes of a chunk.
struct ChunkState {
  DecodeTask task;
  Fault fault;
  std::uint32_t blocks = 0;
  std::uint32_t checksums = 0;
  std::uint64_t first_page = 0;  ///< of the long arena
};

/// Of one slice.
struct SliceCounters {
  std::uint32_t literal_blocks, sequence_blocks;              ///< in the work lists
  std::uint32_t literal_blocks_taken, sequence_blocks_taken;  ///< by teams
};

/// Everything that the passes share; copied into each kernel.
struct Workspace {
  const DecodeTask* tasks = nullptr;
  ChunkStatus* results = nullptr;
  std::uint32_t chunks = 0;
  Checksums checksums = Checksums::verify;
  std::uint32_t slices = 0;                        ///< that are run, if need be
  std::uint32_t slice_pages = 0, chunk_pages = 0;  ///< the most that a slice and a chunk have
  ChunkState* states = nullptr;
  SliceCounters* counters = nullptr;  ///< one for each slice
  std::uint64_t* pages_taken = nullptr;
  BlockRecord* blocks = nullptr;  ///< one for each page
  std::uint32_t* literal_list = nullptr;
  std::uint32_t* sequence_list = nullptr;
  std::uint8_t* arena = nullptr;

  [[nodiscard]] PENSTOCK_HD ByteRange input(std::uint32_t chunk) const {
    const DecodeTask& task = states[chunk].task;
    return {reinterpret_cast<const std::uint8_t*>(task.in), static_cast<std::uint32_t>(task.in_bytes)};
  }
  [[nodiscard]] PENSTOCK_HD std::uint8_t* at(std::uint32_t place) const {
    return arena + std::uint64_t{place} * kPlaceBytes;
  }
  [[nodiscard]] PENSTOCK_HD std::uint64_t max_pages() const { return std::uint64_t{slices} * slice_pages; }
  /// How many slices chunks of so many pages take.
  [[nodiscard]] PENSTOCK_HD constexpr std::uint64_t slices_of(std::uint64_t pages) const {
    if (pages <= std::uint64_t{slice_pages} + chunk_pages) return pages == 0 ? 0 : 1;
    return (pages + slice_pages - 1) / slice_pages;
  }
  /// The first page of the slice; all chunks have their pages.
  [[nodiscard]] PENSTOCK_HD std::uint64_t slice_begin(std::uint32_t slice) const {
    const std::uint64_t taken = *pages_taken < max_pages() ? *pages_taken : max_pages();
    const std::uint64_t needed = slices_of(taken);
    if (needed <= 1) return slice == 0 ? 0 : taken;  // mostly, and without a division
    return slice * ((taken + needed - 1) / needed);
  }
  /// Whether the slice decodes the chunk.
  [[nodiscard]] PENSTOCK_HD bool in_slice(const ChunkState& state, std::uint32_t slice) const {
    return state.fault.status == DecodeStatus::ok && state.first_page >= slice_begin(slice) &&
           state.first_page < slice_begin(slice + 1);
  }
};

}  // namespace penstock::zstd
