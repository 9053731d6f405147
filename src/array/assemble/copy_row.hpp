// Contiguous rows of host memory, in either byte order.
#pragma once
#include <cstddef>
#include <cstdint>

namespace penstock::place {

/// How a row is written.
enum class Store : std::uint8_t {
  cached,
  streaming,  ///< past the caches: for targets so large that nobody reads them from the cache; call finish_stores after
};

/// Copies `bytes` (a multiple of `unit`) and reverses every unit of 2, 4, 8 or 16 bytes; 1: none.  No alignment needed.
void copy_row(std::byte* target, const std::byte* source, std::size_t bytes, std::size_t unit, Store store);
/// Makes streamed rows visible to other threads.
void finish_stores();

}  // namespace penstock::place
