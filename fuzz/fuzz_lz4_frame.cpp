// Bytes as LZ4 frames: the decoder for devices, in order and scattered, against liblz4.
// Input: two bytes of decoded size, then the frames.
#include <cstdint>
#include <vector>

#include "codec/lz4_frame/device.hpp"
#include "device/lz4_frame_data.hpp"
#include "device/test_teams.hpp"

using namespace penstock;

namespace {

void demand(bool holds) {
  if (!holds) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::uint32_t wanted = data[0] | static_cast<std::uint32_t>(data[1]) << 8;
  const std::vector<std::uint8_t> in(data + 2, data + size);  // exact, for AddressSanitizer
  std::vector<std::uint8_t> ordered(wanted), scattered(wanted);
  lz4_frame::SharedOfWarp warp;
  lz4_frame::SharedOfBlock block;
  const auto task = [&](std::vector<std::uint8_t>& out) {
    return DecodeTask{reinterpret_cast<const std::byte*>(in.data()), in.size(),
                      reinterpret_cast<std::byte*>(out.data()), wanted};
  };
  const ChunkStatus x = lz4_frame::decode_chunk(HostTeam<>(), task(ordered), warp);
  const ChunkStatus y =
      lz4_frame::decode_chunk(PermTeam<256>(static_cast<std::uint32_t>(size)), task(scattered), block);
  demand(x.status == y.status && x.position == y.position && x.output_bytes == y.output_bytes && ordered == scattered);
  demand(x.position <= in.size());
  const auto reference = test::by_liblz4_frame(in, wanted);
  if (x.status == DecodeStatus::ok) {
    demand(reference.has_value() && ordered == *reference);
    return 0;
  }
  // What is refused on purpose: see lz4_frame/decode.hpp.
  const bool stricter = x.status == DecodeStatus::needs_dictionary || x.status == DecodeStatus::bad_end ||
                        x.status == DecodeStatus::bad_offset || x.status == DecodeStatus::bad_header;
  demand(stricter || !reference.has_value());
  return 0;
}
