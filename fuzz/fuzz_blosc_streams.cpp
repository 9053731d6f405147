// Bytes as one blosclz or Snappy stream: the decoder for devices, in order and scattered, against c-blosc.
// Input: 0 (blosclz) or 1 (Snappy), two bytes of decoded size, then the stream.
#include "compare_lz.hpp"
#include "inputs.hpp"

using namespace penstock;
using namespace penstock::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto in = plain_input(data, size, 2);
  if (!in) return 0;
  const auto compare = in->format == 0 ? compare_blosc_stream<blosc::Blosclz> : compare_blosc_stream<blosc::Snappy>;
  compare(in->bytes, in->wanted, in->seed);
  return 0;
}
