// Contiguous rows with the other byte order.
#pragma once
#include <cstddef>

namespace penstock {

/// Copies `bytes` (a multiple of `unit`) and reverses every unit of 2, 4, 8 or 16 bytes.  No alignment needed.
void copy_swapped(std::byte* target, const std::byte* source, std::size_t bytes, std::size_t unit);

}  // namespace penstock
