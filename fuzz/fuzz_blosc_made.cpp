// Blosc chunks of every inner format, shuffle, split and size of blocks, of streams that are right and that no encoder
// makes, damaged here and there: the decoder for devices, in order and scattered, against c-blosc.
// Input: blosc_made_input.
#include "compare_blosc.hpp"
#include "inputs.hpp"

using namespace penstock;
using namespace penstock::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto in = blosc_made_input(data, size);
  if (!in) return 0;
  const DecodeStatus status = compare_blosc(in->bytes, in->wanted, in->seed);
  demand(status == DecodeStatus::ok || needs_cpu(status) || !in->made);
  return 0;
}
