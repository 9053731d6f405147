#include "format/slabs.hpp"

#include <algorithm>

namespace penstock {

Shape slab_shape(const Shape& shape, std::uint64_t item_bytes, ContiguousChunks::Fastest fastest,
                 std::uint64_t max_bytes) {
  Shape slab(shape.size(), 1);
  std::uint64_t bytes = std::max<std::uint64_t>(item_bytes, 1);
  for (std::size_t i = 0; i < slab.size(); ++i) {
    const std::size_t d = fastest == ContiguousChunks::Fastest::first ? i : slab.size() - 1 - i;
    const std::uint64_t extent = std::max<std::uint64_t>(shape[d], 1);
    slab[d] = std::clamp<std::uint64_t>(max_bytes / bytes, 1, extent);
    if (slab[d] < extent) break;
    bytes *= extent;
  }
  return slab;
}

}  // namespace penstock
