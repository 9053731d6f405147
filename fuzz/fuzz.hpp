// What all fuzz targets of decoders share.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <source_location>
#include <vector>

#include "codec/scratch_memory.hpp"
#include "codec/status.hpp"
#include "penstock/bytes.hpp"

namespace penstock::fuzz {

using Data = std::vector<std::uint8_t>;

/// Ends the program where something does not hold, and says where.
inline void demand(bool holds, std::source_location where = std::source_location::current()) {
  if (holds) return;
  std::fprintf(stderr, "%s:%u: a demand does not hold\n", where.file_name(), static_cast<unsigned>(where.line()));
  __builtin_trap();
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

using test::scratch_of;

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

/// A byte that says how often what follows is repeated, each time with another byte changed, one that is not data, then
/// the data.  255: so often that there are several segments, where the sum of all bytes chooses so: the fuzzer would
/// try little else.
inline Data data_to_encode(const std::uint8_t* bytes, std::size_t size) {
  const bool large = bytes[0] == 255 && std::accumulate(bytes, bytes + size, 0u) % 16 == 0;
  const std::size_t most = large ? std::size_t{3} << 16 : 2000;
  Data data;
  for (std::uint32_t i = 0; i <= bytes[0] && data.size() + size <= most; ++i) {
    data.insert(data.end(), bytes + 2, bytes + size);
    if (size > 2) data[data.size() - 1 - i % (size - 2)] ^= static_cast<std::uint8_t>(i);
  }
  return data;
}

}  // namespace penstock::fuzz
