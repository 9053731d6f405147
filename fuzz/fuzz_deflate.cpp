// Bytes as a raw, zlib or gzip stream: the decoder for devices, in order and scattered, against zlib.
// Input: a byte that chooses the container, two bytes of decoded size, then the stream.
#include "compare_deflate.hpp"
#include "inputs.hpp"

using namespace penstock;
using namespace penstock::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto in = plain_input(data, size, 3);
  if (in) compare_deflate(in->bytes, static_cast<deflate::Container>(in->format), in->wanted, in->seed);
  return 0;
}
