// One chunk through a device encoder on the host, in memory of exactly its size.
#pragma once
#include <cstdlib>
#include <cstring>
#include <memory>

#include "codec/device_encoder.hpp"
#include "codec/scratch_memory.hpp"
#include "device/lz4_data.hpp"

namespace penstock::test {

struct FreeAligned {
  void operator()(std::byte* bytes) const { std::free(bytes); }
};
/// Exactly so many bytes at a multiple of 256, so that a sanitizer sees one too many.
using ExactBytes = std::unique_ptr<std::byte, FreeAligned>;
inline ExactBytes exact_bytes(std::uint64_t bytes) {
  void* memory = nullptr;
  if (posix_memalign(&memory, 256, bytes == 0 ? 1 : bytes) != 0) std::abort();
  std::memset(memory, 0xEE, bytes == 0 ? 1 : bytes);
  return ExactBytes(static_cast<std::byte*>(memory));
}

struct Made {
  std::uint64_t bytes = 0;  ///< kNotEncoded: none
  Data data;
};

/// encode(batch, scratch) with `room` for the output.
template <class Encode>
Made encode_one(const Data& data, std::uint64_t room, std::uint64_t scratch_bytes, const Encode& encode) {
  const ExactBytes in = exact_bytes(data.size()), out = exact_bytes(room);
  if (!data.empty()) std::memcpy(in.get(), data.data(), data.size());
  const EncodeTask task{in.get(), out.get(), room};
  const std::uint64_t in_bytes = data.size();
  Made made;
  encode(EncodeBatch{&task, &in_bytes, &made.bytes, 1, in_bytes}, scratch_of(scratch_bytes).data());
  if (made.bytes == kNotEncoded) return made;
  const auto* begin = reinterpret_cast<const std::uint8_t*>(out.get());
  made.data.assign(begin, begin + made.bytes);
  return made;
}

}  // namespace penstock::test
