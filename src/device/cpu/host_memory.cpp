#include "device/cpu/host_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace penstock {

void* allocate_host(std::uint64_t bytes, std::size_t alignment) {
  if (bytes > std::numeric_limits<std::int64_t>::max() / 2) return nullptr;
  const std::size_t align = bytes >= 2 * kHugePage ? std::max(alignment, kHugePage) : alignment;
  const std::uint64_t rounded = (bytes + align - 1) / align * align;
  void* data = std::aligned_alloc(align, rounded);
  if (data != nullptr && align >= kHugePage) ::madvise(data, rounded, MADV_HUGEPAGE);  // a wish; refusal does no harm
  return data;
}

}  // namespace penstock
