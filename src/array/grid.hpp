// A region cut along a chunk grid, lazily: a region over a million chunks costs no memory.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "penstock/region.hpp"

namespace penstock {

/// What one chunk contributes along one dimension: elements local_start, local_start + step, ... of the chunk become
/// elements out_start, out_start + 1, ... of the region.
struct ChunkSlice {
  std::uint64_t chunk = 0;        ///< chunk coordinate
  std::uint64_t local_start = 0;  ///< inside the chunk
  std::int64_t step = 1;          ///< inside the chunk
  std::uint64_t count = 0;
  std::uint64_t out_start = 0;  ///< inside the region

  /// Of the elements inside the chunk, the one that lies last.
  [[nodiscard]] std::uint64_t last() const {
    return step > 0 ? local_start + (count - 1) * static_cast<std::uint64_t>(step) : local_start;
  }
};

/// One dimension of a region cut into chunks of `chunk` elements.
class DimPartition {
 public:
  DimPartition(const Range& range, std::uint64_t chunk);
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// The k-th touched chunk, in the order of the region.
  [[nodiscard]] ChunkSlice operator[](std::uint64_t k) const;

 private:
  Range range_;
  std::uint64_t chunk_;
  std::uint64_t size_ = 0;
  std::uint64_t first_ = 0;   // chunk of the first element
  std::uint64_t stride_ = 1;  // |step|
  bool one_by_one_ = false;   // steps longer than a chunk: every element has its own
};

/// A region cut along all dimensions.
class GridPartition {
 public:
  /// `region` was checked against the array's shape.  Errors: out_of_range when the number of pieces exceeds 64 bits.
  static Result<GridPartition> make(const Region& region, std::span<const std::uint64_t> chunk_shape);
  /// Number of touched chunks.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::size_t rank() const { return dims_.size(); }
  /// The i-th touched chunk in C order of the region; `out` has one ChunkSlice per dimension.
  void get(std::uint64_t i, std::span<ChunkSlice> out) const;

 private:
  std::vector<DimPartition> dims_;
  std::uint64_t size_ = 1;
};

}  // namespace penstock
