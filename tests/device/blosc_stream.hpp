// Single streams of c-blosc's own compressors (blosclz, Snappy), made and read through its container, which is all that
// its library offers.
#pragma once
#include <blosc.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "codec/blosc/decode.hpp"
#include "codec/little.hpp"

namespace penstock::test {

/// A container with one block of one stream in front of the stream.
inline std::vector<std::uint8_t> wrapped(blosc::Inner inner, const std::vector<std::uint8_t>& stream,
                                         std::uint32_t decoded) {
  constexpr std::uint32_t kFront = 16 + 4 + 4;  // header, place of the block, size of its stream
  const auto size = static_cast<std::uint32_t>(stream.size());
  std::vector<std::uint8_t> out(kFront + size);
  out[0] = 2;
  out[1] = 1;
  out[2] = static_cast<std::uint8_t>(static_cast<std::uint32_t>(inner) << 5 | 16);  // not split
  out[3] = 1;
  const auto put = [&](std::size_t at, std::uint32_t value) {
    store_little32(reinterpret_cast<std::byte*>(out.data() + at), value);
  };
  put(4, decoded);
  put(8, decoded);
  put(12, kFront + size);
  put(16, 16 + 4);
  put(20, size);
  if (size > 0) std::memcpy(out.data() + kFront, stream.data(), size);
  return out;
}

/// What c-blosc makes of a stream; nullopt: it refuses it.
inline std::optional<std::vector<std::uint8_t>> by_c_blosc(blosc::Inner inner, const std::vector<std::uint8_t>& stream,
                                                           std::uint32_t decoded) {
  const std::vector<std::uint8_t> chunk = wrapped(inner, stream, decoded);
  std::vector<std::uint8_t> out(decoded);
  const int made = blosc_decompress_ctx(chunk.data(), out.data(), out.size(), 1);
  if (made != static_cast<int>(decoded)) return std::nullopt;
  return out;
}

/// The stream that c-blosc makes of the data; nullopt: it stores it raw.
inline std::optional<std::vector<std::uint8_t>> stream_of(blosc::Inner inner, const std::vector<std::uint8_t>& data) {
  std::vector<std::uint8_t> chunk(data.size() * 2 + 100);  // libsnappy wants more room than it uses
  const char* name = inner == blosc::Inner::blosclz ? "blosclz" : "snappy";
  const int made = blosc_compress_ctx(9, BLOSC_NOSHUFFLE, 1, data.size(), data.data(), chunk.data(), chunk.size(), name,
                                      data.size(), 1);
  if (made <= 24 || (chunk[2] & 2) != 0) return std::nullopt;
  const std::uint32_t size = load_little32(reinterpret_cast<const std::byte*>(chunk.data() + 20));
  if (size == data.size() || size + 24 != static_cast<std::uint32_t>(made)) return std::nullopt;
  return std::vector<std::uint8_t>(chunk.begin() + 24, chunk.begin() + made);
}

}  // namespace penstock::test
