// Bytes as a zstd chunk: the decoder for devices, in order and scattered, against libzstd.
// Input: three bytes of decoded size, then the frames.
#include "codec/zstd/decoding.hpp"

using namespace penstock::zstd::test;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const std::uint64_t wanted = data[0] | data[1] << 8 | static_cast<std::uint64_t>(data[2] & 3) << 16;
  const Data in(data + 3, data + size);
  if (compare(in, wanted, static_cast<std::uint32_t>(size * 31 + wanted)) == Verdict::wrong) __builtin_trap();
  return 0;
}
