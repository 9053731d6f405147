// Bytes as an LZ4 chunk: the decoder for devices, in order and scattered, against liblz4.
// Input: two bytes of capacity, then the block.
#include <lz4.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "codec/lz4/decode.hpp"
#include "device/test_teams.hpp"

using namespace penstock;

namespace {

void demand(bool holds) {
  if (!holds) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::uint32_t capacity = data[0] | static_cast<std::uint32_t>(data[1]) << 8;
  const std::vector<std::uint8_t> in(data + 2, data + size);  // exact, for AddressSanitizer
  const auto in_bytes = static_cast<std::uint32_t>(in.size());
  std::vector<std::uint8_t> ordered(capacity), scattered(capacity), reference(capacity + 1);
  lz4::SharedOfWarp warp;
  lz4::SharedOfBlock block;
  const lz4::Cursor x = lz4::decode_block(HostTeam<>(), in.data(), in_bytes, ordered.data(), capacity, warp);
  const lz4::Cursor y =
      lz4::decode_block(PermTeam<256>(in_bytes), in.data(), in_bytes, scattered.data(), capacity, block);
  demand(x.status == y.status && x.in == y.in && x.out == y.out && ordered == scattered);

  if (capacity == 0) return 0;  // liblz4 then also looks at the unused half of the token
  // liblz4 accepts match offset 0, which the format calls corrupt.
  if (x.status == DecodeStatus::bad_offset && in[x.in - 1] == 0 && in[x.in - 2] == 0) return 0;
  const int made =
      LZ4_decompress_safe(reinterpret_cast<const char*>(in.data()), reinterpret_cast<char*>(reference.data()),
                          static_cast<int>(in.size()), static_cast<int>(capacity));
  const bool ok = x.status == DecodeStatus::ok;
  demand(ok || made < 0);
  demand((ok && x.out == capacity) == (made >= 0 && static_cast<std::uint32_t>(made) == capacity));
  if (made < 0) return 0;
  demand(x.out == static_cast<std::uint32_t>(made) && std::memcmp(ordered.data(), reference.data(), x.out) == 0);
  return 0;
}
