// How a volume whose elements lie one behind another is cut into chunks.
#pragma once
#include <cstdint>

#include "penstock/dataset.hpp"

namespace penstock {

/// The largest slabs of at most `max_bytes`, at least one element, that are contiguous.  The last ones may be smaller.
Shape slab_shape(const Shape& shape, std::uint64_t item_bytes, ContiguousChunks::Fastest fastest,
                 std::uint64_t max_bytes);

}  // namespace penstock
