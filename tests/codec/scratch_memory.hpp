// Scratch for decoders that run on the host, thousands of times a second when they are fuzzed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#if defined(__has_include) && __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(begin, size) ((void)(begin), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(begin, size) ((void)(begin), (void)(size))
#endif

namespace penstock::test {

/// `bytes` at a multiple of 256, in the same memory each time, so that megabytes of it cost nothing.  AddressSanitizer
/// guards all that is behind them; told only of what changed since the last time, as that is slow too.
inline std::span<std::byte> scratch_of(std::uint64_t bytes) {
  constexpr std::uint64_t kAlign = 256, kGuard = 4096;
  static std::vector<std::byte> memory;
  static std::byte* begin = nullptr;
  static std::uint64_t room = 0, open = 0;  // bytes from `begin` on; of them, those that are not guarded
  if (room < bytes + kGuard) {
    if (begin != nullptr) ASAN_UNPOISON_MEMORY_REGION(begin, room);
    memory = std::vector<std::byte>(2 * bytes + kAlign + kGuard);
    begin = memory.data() + (0 - reinterpret_cast<std::uintptr_t>(memory.data())) % kAlign;
    open = room = memory.size() - static_cast<std::size_t>(begin - memory.data());
  }
  if (bytes > open)
    ASAN_UNPOISON_MEMORY_REGION(begin + open, bytes - open);
  else
    ASAN_POISON_MEMORY_REGION(begin + bytes, open - bytes);
  open = bytes;
  return {begin, bytes};
}

}  // namespace penstock::test
