// Raw, zlib and gzip streams that are right and that no encoder makes, damaged here and there: the decoder for devices,
// in order and scattered, against zlib.
// Input: deflate_made_input.
#include "compare_deflate.hpp"
#include "inputs.hpp"

using namespace penstock;
using namespace penstock::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto in = deflate_made_input(data, size);
  if (!in) return 0;
  const bool right = compare_deflate(in->bytes, static_cast<deflate::Container>(in->format), in->wanted, in->seed);
  demand(right || !in->made);
  return 0;
}
