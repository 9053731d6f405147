// Small facts about one encoded chunk that every reader needs.
#pragma once
#include <array>
#include <optional>
#include <span>

#include "array/grid.hpp"
#include "codec/chain.hpp"

namespace penstock {

/// The elements of a chunk that segments name, without an allocation.
class PartArray {
 public:
  explicit PartArray(std::span<const ChunkSlice> segments) : rank_(segments.size()) {
    for (std::size_t d = 0; d < rank_; ++d) ranges_[d] = {segments[d].local_start, segments[d].count, segments[d].step};
  }
  /// The same elements of a copy of the chunk that begins with the first of them.
  void to_front() {
    for (std::size_t d = 0; d < rank_; ++d)
      ranges_[d].start =
          ranges_[d].step > 0 ? 0 : (ranges_[d].count - 1) * static_cast<std::uint64_t>(-ranges_[d].step);
  }
  operator std::span<const Range>() const { return {ranges_.data(), rank_}; }  // NOLINT(google-explicit-constructor)

 private:
  std::array<Range, kMaxRank> ranges_;
  std::size_t rank_;
};

/// Bytes [first, last) of a raw chunk that segments touch.
struct ByteExtent {
  std::uint64_t first, last;
};
ByteExtent touched_bytes(const ChunkLayout& layout, std::span<const ChunkSlice> segments, std::uint64_t item_bytes);

/// Most bytes that a well-formed encoded chunk has, with room for what encoders may add; nullopt: not known.
std::optional<std::uint64_t> max_encoded_bytes(const CodecChain& chain);

/// Refuses an encoded chunk whose size cannot be right, before anything is allocated for it.
/// Errors: corrupt_data with both sizes.
Status check_encoded_size(const CodecChain& chain, std::uint64_t size_bytes);

}  // namespace penstock
