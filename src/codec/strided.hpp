// Copies between differently strided views of the same shape, on the CPU.
#pragma once
#include <span>

#include "penstock/bytes.hpp"
#include "penstock/region.hpp"

namespace penstock {

/// Copies elements of `item_bytes` bytes.  shape: up to kMaxRank extents; strides: bytes per dimension, of equal
/// length. `to` and `from` point at the first element and do not overlap.
void copy_strided(std::byte* to, std::span<const std::int64_t> to_strides, const std::byte* from,
                  std::span<const std::int64_t> from_strides, std::span<const std::uint64_t> shape,
                  std::size_t item_bytes);

}  // namespace penstock
