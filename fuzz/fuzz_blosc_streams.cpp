// Bytes as one blosclz or Snappy stream: the decoder for devices, in order and scattered, against c-blosc.
// Input: 0 (blosclz) or 1 (Snappy), two bytes of decoded size, then the stream.
#include <cstdint>
#include <vector>

#include "codec/blosc/blosclz.hpp"
#include "codec/blosc/snappy.hpp"
#include "device/blosc_stream.hpp"
#include "device/test_teams.hpp"

using namespace penstock;

namespace {

void demand(bool holds) {
  if (!holds) __builtin_trap();
}

using Data = std::vector<std::uint8_t>;

template <class Format>
void compare(blosc::Inner inner, const Data& in, std::uint32_t wanted) {
  Data ordered(wanted), scattered(wanted);
  lz::SharedOfWarp warp;
  lz::SharedOfBlock block;
  const auto task = [&](Data& out) {
    return DecodeTask{reinterpret_cast<const std::byte*>(in.data()), in.size(),
                      reinterpret_cast<std::byte*>(out.data()), wanted};
  };
  const ChunkStatus x = lz::decode_chunk(HostTeam<>(), Format{}, task(ordered), warp);
  const auto seed = static_cast<std::uint32_t>(in.size());
  const ChunkStatus y = lz::decode_chunk(PermTeam<256>(seed), Format{}, task(scattered), block);
  demand(x.status == y.status && x.position == y.position && x.output_bytes == y.output_bytes && ordered == scattered);
  if (wanted == 0 || in.size() == wanted) return;  // the container has no such streams
  const auto reference = test::by_c_blosc(inner, in, wanted);
  demand((x.status == DecodeStatus::ok) == reference.has_value());
  if (reference) demand(ordered == *reference);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const std::uint32_t wanted = data[1] | static_cast<std::uint32_t>(data[2]) << 8;
  const Data in(data + 3, data + size);  // exact, for AddressSanitizer
  if (data[0] % 2 == 0)
    compare<blosc::Blosclz>(blosc::Inner::blosclz, in, wanted);
  else
    compare<blosc::Snappy>(blosc::Inner::snappy, in, wanted);
  return 0;
}
