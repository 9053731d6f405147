#include "core/pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace penstock {

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
