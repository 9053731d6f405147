// What all fuzz targets of decoders share.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "codec/status.hpp"
#include "penstock/bytes.hpp"

#if defined(__has_include) && __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(begin, size) ((void)(begin), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(begin, size) ((void)(begin), (void)(size))
#endif

namespace penstock::fuzz {

using Data = std::vector<std::uint8_t>;

inline void demand(bool holds) {
  if (!holds) __builtin_trap();
}

/// The decoded size that an input asks for in two bytes: mostly less than 16 KiB, so that inputs take microseconds.
inline std::uint32_t wanted_size(const std::uint8_t* at) {
  const std::uint32_t size = at[0] | static_cast<std::uint32_t>(at[1]) << 8;
  return size >= 0xC000 ? size : size & 0x3FFF;
}

inline DecodeTask task_of(const Data& in, Data& out) {
  return {reinterpret_cast<const std::byte*>(in.data()), in.size(), reinterpret_cast<std::byte*>(out.data()),
          out.size()};
}

/// Memory at a multiple of 256, the same each time, so that megabytes of it cost nothing; AddressSanitizer guards what
/// is behind it.
inline ByteSpan scratch_of(std::uint64_t bytes) {
  constexpr std::uint64_t kAlign = 256, kGuard = 4096;
  static std::vector<std::byte> memory;
  if (memory.size() < bytes + kAlign + kGuard) memory = std::vector<std::byte>(2 * bytes + kAlign + kGuard);
  auto* const begin = memory.data() + (0 - reinterpret_cast<std::uintptr_t>(memory.data())) % kAlign;
  ASAN_UNPOISON_MEMORY_REGION(memory.data(), memory.size());
  ASAN_POISON_MEMORY_REGION(begin + bytes, memory.size() - static_cast<std::size_t>(begin + bytes - memory.data()));
  return {begin, bytes};
}

inline bool same(const ChunkStatus& a, const ChunkStatus& b) {
  return a.status == b.status && a.position == b.position && a.output_bytes == b.output_bytes;
}

/// A byte for each of `data`'s damages: three bytes each, where (two) and what is flipped.  Whether there was one.
inline bool damage(Data& stream, const std::uint8_t* data, std::size_t count) {
  bool damaged = false;
  for (std::size_t i = 0; i < count && !stream.empty(); ++i, data += 3) {
    stream[(data[0] | static_cast<std::size_t>(data[1]) << 8) % stream.size()] ^= data[2];
    damaged = damaged || data[2] != 0;
  }
  return damaged;
}

}  // namespace penstock::fuzz
