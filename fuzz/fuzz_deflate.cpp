// Bytes as a raw, zlib or gzip stream: the decoder for devices, in order and scattered, against zlib.
// Input: a byte that chooses the container, two bytes of decoded size, then the stream.
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "codec/deflate/decode.hpp"
#include "device/test_teams.hpp"

using namespace penstock;
using penstock::deflate::Container;

namespace {

using Data = std::vector<std::uint8_t>;
constexpr checksum::Kind kCrc32(checksum::Sum::crc32);

void demand(bool holds) {
  if (!holds) __builtin_trap();
}

/// Whether zlib makes exactly out.size() bytes of it: one stream, or members of gzip with zeros between and behind
/// them.
bool by_zlib(Data in, Container container, Data& out) {
  constexpr int kWindowBits[] = {-15, 15, 31};
  const std::size_t size = in.size();
  in.push_back(0);
  Data room(out.size() + 1);
  std::size_t at = 0, made = 0;
  bool ok = false;
  for (;;) {
    z_stream z{};
    demand(inflateInit2(&z, kWindowBits[static_cast<int>(container)]) == Z_OK);
    z.next_in = in.data() + at;
    z.avail_in = static_cast<uInt>(size - at);
    z.next_out = room.data() + made;
    z.avail_out = static_cast<uInt>(room.size() - made);
    ok = inflate(&z, Z_FINISH) == Z_STREAM_END;
    at += z.total_in;
    made += z.total_out;
    inflateEnd(&z);
    if (!ok || container != Container::gzip) break;
    while (at < size && in[at] == 0) ++at;
    if (size - at < 2 || in[at] != 0x1f || in[at + 1] != 0x8b) break;
  }
  if (!ok || at != size || made != out.size()) return false;
  std::copy_n(room.begin(), made, out.begin());
  return true;
}

template <class Team>
ChunkStatus decode(const Team& team, const Data& in, Container container, Data& out) {
  const auto shared = std::make_unique<deflate::Shared>();
  return decode_chunk(
      team,
      {reinterpret_cast<const std::byte*>(in.data()), in.size(), reinterpret_cast<std::byte*>(out.data()), out.size()},
      container, kCrc32.crc, *shared);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const auto container = static_cast<Container>(data[0] % 3);
  const std::size_t wanted = data[1] | static_cast<std::size_t>(data[2]) << 8;
  const Data in(data + 3, data + size);  // exact, for AddressSanitizer
  Data ordered(wanted), scattered(wanted), expected(wanted);
  const ChunkStatus a = decode(HostTeam<>(), in, container, ordered);
  const ChunkStatus b = decode(PermTeam<>(static_cast<std::uint32_t>(size)), in, container, scattered);
  demand(a.status == b.status && a.position == b.position && a.output_bytes == b.output_bytes && ordered == scattered);
  // Of a gzip header's own checksum zlib makes an error, we nothing.
  if (container == Container::gzip && in.size() > 3 && (in[3] & 2) != 0) return 0;
  const bool ok = by_zlib(in, container, expected);
  demand(ok == (a.status == DecodeStatus::ok));
  demand(!ok || ordered == expected);
  return 0;
}
