// Bytes as a Blosc chunk: the decoder for devices, in order and scattered, against c-blosc.
// Input: two bytes of decoded size, then the chunk.
#include "compare_blosc.hpp"
#include "inputs.hpp"

using namespace penstock;
using namespace penstock::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (const auto in = plain_input(data, size)) compare_blosc(in->bytes, in->wanted, in->seed);
  return 0;
}
