#include "core/pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace penstock {
namespace {

#ifdef __SANITIZE_ADDRESS__  // it watches what lies around malloc's blocks
constexpr std::uint64_t kMapped = ~std::uint64_t{0};
#else
constexpr std::uint64_t kMapped = std::uint64_t{256} << 10;
#endif
constexpr std::size_t kPage = 4096;

std::uint64_t rounded(std::uint64_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }
std::size_t page_of(std::uint64_t bytes) { return bytes >= 2 * kHugePage ? kHugePage : kPage; }

/// Pages at a multiple of `alignment`: more are asked for, and what lies around them is given back.
std::byte* map_pages(std::uint64_t bytes, std::size_t alignment) {
  const std::uint64_t all = bytes + (alignment - kPage);
  void* const memory = ::mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(memory);
  const auto at = reinterpret_cast<std::uintptr_t>(begin);
  const std::uint64_t before = rounded(at, alignment) - at, behind = all - before - bytes;
  if (before > 0) ::munmap(begin, before);
  if (behind > 0) ::munmap(begin + before + bytes, behind);
  return begin + before;
}

}  // namespace

std::byte* take_memory(std::uint64_t bytes, std::size_t alignment) {
  if (bytes > std::numeric_limits<std::int64_t>::max() / 2) return nullptr;
  if (bytes < kMapped)
    return static_cast<std::byte*>(
        std::aligned_alloc(alignment, rounded(std::max<std::uint64_t>(bytes, 1), alignment)));
  const std::uint64_t size = rounded(bytes, page_of(bytes));
  std::byte* const data = map_pages(size, std::max(alignment, page_of(bytes)));
  if (data != nullptr && page_of(bytes) == kHugePage)
    ::madvise(data, size, MADV_HUGEPAGE);  // a wish; refusal does no harm
  return data;
}

void give_memory(void* data, std::uint64_t bytes) noexcept {
  if (data == nullptr) return;
  if (bytes < kMapped)
    std::free(data);
  else
    ::munmap(data, rounded(bytes, page_of(bytes)));
}

void make_pages(ByteSpan memory) {
#ifdef MADV_POPULATE_WRITE  // Linux 5.14
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data()) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(memory.data()) + memory.size() + page - 1) / page * page;
  if (!memory.empty()) (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE);
#else
  (void)memory;
#endif
}

}  // namespace penstock
