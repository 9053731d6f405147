// Bytes as a zstd chunk: the decoder for devices, in order and scattered, against libzstd.
// Input: zstd_input.
#include "codec/zstd/decoding.hpp"
#include "inputs.hpp"

using namespace penstock;
using namespace penstock::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto in = zstd_input(data, size);
  if (in) demand(zstd::test::compare(in->bytes, in->wanted, in->seed) != zstd::test::Verdict::wrong);
  return 0;
}
