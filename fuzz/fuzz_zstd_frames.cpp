// Frames that are right and that no encoder makes, damaged here and there: the decoder for devices, in order and
// scattered, against libzstd.
// Input: four bytes that choose the frames, then damages of three bytes: where, 16 bits, and what is flipped.
#include "codec/zstd/decoding.hpp"
#include "codec/zstd/frame_maker.hpp"

using namespace penstock::zstd::test;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  std::uint32_t seed = 0;
  for (int k = 0; k < 4; ++k) seed |= static_cast<std::uint32_t>(data[k]) << (8 * k);
  FrameMaker maker = make_frames(seed, 3000);
  bool damaged = false;
  for (std::size_t at = 4; at + 3 <= size && at < 4 + 3 * 8 && !maker.frame.empty(); at += 3) {
    const std::size_t where = static_cast<std::size_t>(data[at] | data[at + 1] << 8) % maker.frame.size();
    maker.frame[where] ^= data[at + 2];
    damaged = damaged || data[at + 2] != 0;
  }
  const std::uint64_t size_made = maker.content.size();
  const Verdict verdict = compare(maker.frame, size_made, seed);
  if (verdict == Verdict::wrong) __builtin_trap();
  if (damaged || maker.frame.empty() || verdict == Verdict::same_bytes) return 0;
  if (!penstock::needs_cpu(decode_one(maker.frame, size_made).status.status)) __builtin_trap();
  return 0;
}
