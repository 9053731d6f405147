// Reads chunks of one array into host memory.
#pragma once
#include <memory>
#include <span>

#include "array/grid.hpp"
#include "array/job.hpp"
#include "array/place/place.hpp"
#include "array/state.hpp"

namespace penstock {

/// A region of one array on its way into memory.
class RegionReader {
 public:
  /// Errors: out_of_range (region), invalid_argument (no arena for variable-length elements).
  static Result<RegionReader> make(const Array& array, const Region& region, const Target& target, Arena* arena);
  /// Decodes everything and keeps nothing: for verify.
  static Result<RegionReader> make_discarding(const Array& array);

  /// Number of objects (chunks or shards) that the region touches.
  [[nodiscard]] std::uint64_t objects() const { return cut_.size(); }
  [[nodiscard]] const ArrayView& view() const { return *view_; }
  [[nodiscard]] const Array::State& state() const { return *state_; }
  /// Reads the i-th object.  `parallel`: inner chunks of a shard may run side by side.
  [[nodiscard]] Status read_object(Job& job, std::uint64_t i, OnError on_error, bool parallel) const;

  /// Working memory of one worker.
  [[nodiscard]] std::uint64_t bytes_per_worker() const;

 private:
  // An encoded chunk or shard: a part of an object.
  struct Source {
    const Object* object;
    std::uint64_t offset;
    std::uint64_t size;
  };
  Status read_chunk(Job& job, const Source& source, const CodecChain& chain, std::span<const Segment> segments,
                    std::byte* out) const;
  Status read_shard(Job& job, const Source& source, const CodecChain& chain, std::span<const Segment> segments,
                    std::byte* out, const std::string& key, OnError on_error, bool parallel) const;
  Status decode_and_place(Worker& worker, ByteView encoded, const CodecChain& chain, std::span<const Segment> segments,
                          std::byte* out) const;
  Status place(const std::byte* raw, const RawLayout& layout, std::span<const Range> part, std::byte* out) const;
  Status place_fill(std::span<const Segment> segments, std::byte* out) const;
  [[nodiscard]] bool lands_whole(const CodecChain& chain, std::span<const Segment> segments) const;
  [[nodiscard]] std::byte* target_of(std::span<const Segment> segments, std::byte* base) const;

  std::shared_ptr<Array::State> state_;
  std::shared_ptr<const ArrayView> view_;
  CutRegion cut_;
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
