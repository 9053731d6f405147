// A region in slices that fit in memory, in the order of their elements.
#pragma once
#include <optional>

#include "penstock/dataset.hpp"
#include "penstock/region.hpp"

namespace penstock::cli {

/// Cuts a region into consecutive slices of its C order: the elements of the slices, one after the other, are those of
/// the region.  Slices end at chunk borders where they can, so that a chunk is rarely decoded twice.
class Slices {
 public:
  Slices(Region region, const Dataset& dataset);
  /// At most `max_bytes`, but one element at least; nullopt when all have been given.
  std::optional<Region> next(std::uint64_t max_bytes);
  /// Bytes of the slice that decodes each of its chunks once: a row of chunks along the first dimension.
  /// UINT64_MAX when that is more than 64 bits hold.
  [[nodiscard]] std::uint64_t chunk_row_bytes() const;

 private:
  [[nodiscard]] std::size_t axis_for(std::uint64_t max_bytes) const;
  [[nodiscard]] std::uint64_t rows_from(std::size_t axis, std::uint64_t max_rows) const;
  void advance(std::size_t axis, std::uint64_t rows);
  Region region_;
  Shape chunk_;
  std::vector<std::uint64_t> index_bytes_;  ///< what one index along each axis takes
  Shape position_;                          ///< of the next element
  bool done_ = false;
};

}  // namespace penstock::cli
