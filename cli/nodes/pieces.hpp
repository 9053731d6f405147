// A region in pieces that fit in memory, in the order of their elements.
#pragma once
#include <optional>

#include "penstock/dataset.hpp"
#include "penstock/region.hpp"

namespace penstock::cli {

/// Cuts a region into consecutive pieces of its C order: the elements of the pieces, one after the other, are those of
/// the region.  Pieces end at chunk borders where they can, so that a chunk is rarely decoded twice.
class Pieces {
 public:
  /// Every piece has at most `max_bytes` (but one element at least).
  Pieces(Region region, const Dataset& dataset, std::uint64_t max_bytes);
  /// nullopt when all have been given.
  std::optional<Region> next();

 private:
  [[nodiscard]] std::uint64_t rows_from(std::uint64_t at) const;
  Region region_;
  Shape chunk_;
  std::size_t axis_ = 0;  ///< the axis that is cut; axes before it are walked one by one
  std::uint64_t max_rows_ = 1;
  Shape position_;  ///< of the next piece, along axes 0..axis_
  bool done_ = false;
};

}  // namespace penstock::cli
