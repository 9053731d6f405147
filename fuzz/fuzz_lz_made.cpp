// LZ4 blocks and frames, blosclz and Snappy streams that are right and that no encoder makes, damaged here and there:
// the decoders for devices, in order and scattered, against liblz4 and c-blosc.
// Input: lz_made_input.
#include "compare_lz.hpp"
#include "inputs.hpp"

using namespace penstock;
using namespace penstock::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto in = lz_made_input(data, size);
  if (!in) return 0;
  constexpr decltype(&compare_lz4_block) kCompare[] = {
      compare_lz4_block, compare_lz4_frame, compare_blosc_stream<blosc::Blosclz>, compare_blosc_stream<blosc::Snappy>};
  const bool right = kCompare[in->format](in->bytes, in->wanted, in->seed);
  demand(right || !in->made);
  return 0;
}
