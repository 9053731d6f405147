#include "array/blocks.hpp"

#include <algorithm>

#include "core/checked.hpp"

namespace penstock {
namespace {

/// Elements of a block clipped to the array; saturates.
std::uint64_t elements(const Shape& block, const Shape& array) {
  std::uint64_t n = 1;
  for (std::size_t d = 0; d < block.size(); ++d)
    if (__builtin_mul_overflow(n, std::min(block[d], array[d]), &n)) return ~std::uint64_t{0};
  return n;
}

}  // namespace

BlockWalk::BlockWalk(const Shape& array_shape, const Shape& object_shape, const Shape& source_shape,
                     std::uint64_t max_elements)
    : array_(array_shape), block_(object_shape) {
  const auto grow = [&](std::size_t d, std::uint64_t times) {
    Shape larger = block_;
    if (block_[d] >= array_[d] || __builtin_mul_overflow(block_[d], times, &larger[d])) return false;
    if (elements(larger, array_) > max_elements) return false;
    block_ = std::move(larger);
    return true;
  };
  for (std::size_t d = block_.size(); d-- > 0;)
    while (block_[d] < source_shape[d] && grow(d, 2)) {
    }
  for (std::size_t d = block_.size(); d-- > 0;)
    while (grow(d, 2)) {
    }
  for (std::size_t d = 0; d < block_.size(); ++d) count_ *= div_up(array_[d], block_[d]);
}

Region BlockWalk::operator[](std::uint64_t i) const {
  Region region(block_.size());
  for (std::size_t d = block_.size(); d-- > 0;) {
    const std::uint64_t n = div_up(array_[d], block_[d]);
    const std::uint64_t start = i % n * block_[d];
    region[d] = {start, std::min(block_[d], array_[d] - start), 1};
    i /= n;
  }
  return region;
}

}  // namespace penstock
