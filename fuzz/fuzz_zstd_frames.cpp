// Frames that are right and that no encoder makes, damaged here and there: the decoder for devices, in order and
// scattered, against libzstd.
// Input: zstd_made_input.
#include "codec/zstd/decoding.hpp"
#include "inputs.hpp"

using namespace penstock;
using namespace penstock::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto in = zstd_made_input(data, size);
  if (!in) return 0;
  const auto verdict = zstd::test::compare(in->bytes, in->wanted, in->seed);
  demand(verdict != zstd::test::Verdict::wrong);
  if (!in->made || in->bytes.empty() || verdict == zstd::test::Verdict::same_bytes) return 0;
  demand(needs_cpu(zstd::test::decode_one(in->bytes, in->wanted).status.status));
  return 0;
}
