// A region of one array bound to the memory that it goes to: checked once, the same for hosts and devices.
#pragma once
#include <array>
#include <memory>
#include <span>
#include <vector>

#include "array/assemble/place.hpp"
#include "array/grid.hpp"
#include "array/plan/encoded_chunk.hpp"
#include "array/state.hpp"

namespace penstock {

/// What a region wants of one chunk.
using ChunkSliceArray = std::array<ChunkSlice, kMaxRank>;

/// Constant while a read runs.
struct BoundRegion {
  std::shared_ptr<Array::State> state;
  std::shared_ptr<const ArrayView> view;
  const CodecChain* chain = nullptr;  ///< of the innermost chunks that do not end early
  Region region;
  GridPartition objects;        ///< the region cut along the objects (chunks or shards)
  std::uint64_t chunks = 0;     ///< innermost chunks that it touches; the largest number where there are more
  std::uint64_t out_bytes = 0;  ///< of the elements
  std::uint64_t item_bytes = 1;
  std::byte* target = nullptr;
  Strides strides;  ///< of the target
  Arena* arena = nullptr;
  bool discards = false;          ///< everything is decoded and nothing kept: for verify
  std::vector<std::byte> fill{};  ///< one element
  std::vector<SwapRun> swaps{};

  /// Errors: out_of_range (region), invalid_argument (strides; no arena for variable-length elements).
  static Result<BoundRegion> make(const Array& array, const Region& region, const Target& target, Arena* arena);
  static Result<BoundRegion> make_discarding(const Array& array);

  [[nodiscard]] std::size_t rank() const { return region.size(); }
  /// Working memory of one thread that decodes on the CPU.
  [[nodiscard]] std::uint64_t bytes_per_worker() const;
  /// Of it, what an encoded chunk takes.
  [[nodiscard]] std::uint64_t encoded_bytes() const;
  /// Where the first element of `slices` goes, when `base` is for the first of the chunk around them.
  [[nodiscard]] std::byte* target_of(std::span<const ChunkSlice> slices, std::byte* base) const;
};

/// What one region wants of one chunk, and where it goes.
struct ChunkUse {
  const BoundRegion* region;
  const CodecChain* chain;  ///< of the chunk
  std::span<const ChunkSlice> slices;
  std::byte* out;

  [[nodiscard]] std::uint64_t bytes() const {
    std::uint64_t bytes = region->item_bytes;
    for (const ChunkSlice& s : slices) bytes *= s.count;
    return bytes;
  }
  /// Whether the chunk may be decoded straight into its place: all of it is wanted, into contiguous memory.
  [[nodiscard]] bool takes_whole() const;
  /// Its placement from `source` (nullptr: the fill value); `part` must outlive it.
  [[nodiscard]] PlaceItem item(const std::byte* source, const PartArray& part) const;
  /// Puts it from host memory to host memory; `from_front`: `source` begins with the first byte that is wanted.
  enum class Source : std::uint8_t { whole_chunk, from_front };
  [[nodiscard]] Status place(const std::byte* source, Source kind) const;
  [[nodiscard]] Status place_fill() const { return place(nullptr, Source::whole_chunk); }
};

/// One element of the array's fill value in memory; variable-length values are put into `arena`.
Result<std::vector<std::byte>> fill_element(const Dataset& dataset, Arena* arena);

/// Innermost chain of nested shards: what decodes a chunk that can be read alone.
const CodecChain& innermost(const CodecChain& chain);

}  // namespace penstock
