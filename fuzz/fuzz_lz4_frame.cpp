// Bytes as LZ4 frames: the decoder for devices, in order and scattered, against liblz4.
// Input: two bytes of decoded size, then the frames.
#include "compare_lz.hpp"
#include "inputs.hpp"

using namespace penstock;
using namespace penstock::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (const auto in = plain_input(data, size)) compare_lz4_frame(in->bytes, in->wanted, in->seed);
  return 0;
}
