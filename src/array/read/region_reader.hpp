// Regions of arrays on their way into host memory.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "array/assemble/place.hpp"
#include "array/grid.hpp"
#include "array/state.hpp"
#include "exec/job.hpp"

namespace penstock {

/// What a region wants of one chunk.
using ChunkSliceArray = std::array<ChunkSlice, kMaxRank>;

/// A region of one array on its way into memory: what it wants of each chunk, and where that goes.
class RegionReader {
 public:
  /// Errors: out_of_range (region), invalid_argument (no arena for variable-length elements).
  static Result<RegionReader> make(const Array& array, const Region& region, const Target& target, Arena* arena);
  /// Decodes everything and keeps nothing: for verify.
  static Result<RegionReader> make_discarding(const Array& array);

  /// Number of objects (chunks or shards) that the region touches.
  [[nodiscard]] std::uint64_t objects() const { return cut_.size(); }
  [[nodiscard]] std::size_t rank() const { return cut_.rank(); }
  [[nodiscard]] const ArrayView& view() const { return *view_; }
  [[nodiscard]] Array::State& state() const { return *state_; }
  [[nodiscard]] std::uint64_t item_bytes() const { return view_->dataset.dtype.size_bytes; }
  [[nodiscard]] bool discards() const { return discard_; }
  [[nodiscard]] Arena* arena() const { return arena_; }
  /// Working memory of one worker.
  [[nodiscard]] std::uint64_t bytes_per_worker() const;

  /// What the region wants of the i-th object; returns where its first element goes.
  std::byte* locate(std::uint64_t i, std::span<ChunkSlice> segments) const;
  /// Where the first element of `segments` goes, when `base` is for the first of the chunk around them.
  [[nodiscard]] std::byte* target_of(std::span<const ChunkSlice> segments, std::byte* base) const;
  /// Whether a chunk may be decoded straight into its place: all of it is wanted, into contiguous memory.
  [[nodiscard]] bool takes_whole(const CodecChain& chain, std::span<const ChunkSlice> segments) const;
  /// Puts `part` of a chunk that lies as `layout` says to `out`.
  Status place(const std::byte* raw, const ChunkLayout& layout, std::span<const Range> part, std::byte* out) const;
  Status place_fill(std::span<const ChunkSlice> segments, std::byte* out) const;

 private:
  std::shared_ptr<Array::State> state_;
  std::shared_ptr<const ArrayView> view_;
  GridPartition cut_;
  bool discard_ = false;
  std::byte* data_ = nullptr;
  Strides strides_;
  Arena* arena_ = nullptr;
  std::vector<std::byte> fill_;  // one element
  std::vector<SwapRun> swaps_;
};

/// One element of the array's fill value in memory; variable-length values are put into `arena`.
Result<std::vector<std::byte>> fill_element(const Dataset& dataset, Arena* arena);

/// Innermost chain of nested shards: what decodes a chunk that can be read alone.
const CodecChain& innermost(const CodecChain& chain);

}  // namespace penstock
