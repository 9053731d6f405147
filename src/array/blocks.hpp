// Cuts an array into blocks of whole objects that are worked on one after another in bounded memory.
#pragma once
#include "penstock/region.hpp"

namespace penstock {

class BlockWalk {
 public:
  /// Blocks are multiples of `object_shape` (clipped at the array's end).  They grow from one object: first over the
  /// chunks of the source (`source_shape`, so that each is read once), then from the last dimension to the first,
  /// as long as a block has at most `max_elements`.
  BlockWalk(const Shape& array_shape, const Shape& object_shape, const Shape& source_shape, std::uint64_t max_elements);

  [[nodiscard]] std::uint64_t size() const { return count_; }
  /// The i-th block in C order.
  [[nodiscard]] Region operator[](std::uint64_t i) const;
  [[nodiscard]] const Shape& block_shape() const { return block_; }

 private:
  Shape array_, block_;
  std::uint64_t count_ = 1;
};

}  // namespace penstock
