// DEFLATE, zlib and gzip: the decoder for devices, in order and scattered, and that of one thread, against zlib.
#pragma once
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "codec/deflate/decode.hpp"
#include "codec/deflate/inflate.hpp"
#include "device/teams.hpp"
#include "fuzz.hpp"

namespace penstock::fuzz {

/// Whether zlib makes exactly out.size() bytes of it: one stream, or members of gzip with zeros between and behind
/// them.  `header_sum`: it refuses a gzip header for that header's own checksum.
inline bool by_zlib(const Data& in, deflate::Container container, Data& out, bool& header_sum) {
  constexpr int kWindowBits[] = {-15, 15, 31};
  static z_stream z = [] {
    z_stream made{};
    demand(inflateInit2(&made, 15) == Z_OK);
    return made;
  }();
  const std::size_t size = in.size();
  Data room(out.size() + 1);
  std::size_t at = 0, made = 0;
  bool ok = false;
  for (;;) {
    std::uint8_t none = 0;  // never a null pointer
    demand(inflateReset2(&z, kWindowBits[static_cast<int>(container)]) == Z_OK);
    z.next_in = at < size ? const_cast<std::uint8_t*>(in.data()) + at : &none;
    z.avail_in = static_cast<uInt>(size - at);
    z.next_out = room.data() + made;
    z.avail_out = static_cast<uInt>(room.size() - made);
    ok = inflate(&z, Z_FINISH) == Z_STREAM_END;
    at += z.total_in;
    made += z.total_out;
    if (!ok || container != deflate::Container::gzip) break;
    while (at < size && in[at] == 0) ++at;
    if (size - at < 2 || in[at] != 0x1f || in[at + 1] != 0x8b) break;
  }
  header_sum = !ok && z.msg != nullptr && std::strcmp(z.msg, "header crc mismatch") == 0;
  if (!ok || at != size || made != out.size()) return false;
  std::copy_n(room.begin(), made, out.begin());
  return true;
}

/// Whether the stream is right.
inline bool compare_deflate(const Data& in, deflate::Container container, std::size_t wanted, std::uint32_t seed) {
  static constexpr checksum::Kind kCrc32(checksum::Sum::crc32);
  static const auto shared = std::make_unique<deflate::Shared>(), other = std::make_unique<deflate::Shared>();
  Data ordered(wanted), scattered(wanted), expected(wanted);
  const ChunkStatus a = decode_chunk(HostTeam<>(), task_of(in, ordered), container, kCrc32.crc, *shared);
  demand(same(a, decode_chunk(PermTeam<>(seed), task_of(in, scattered), container, kCrc32.crc, *other)));
  demand(ordered == scattered);
  const bool ok = a.status == DecodeStatus::ok;
  bool header_sum = false;
  const bool by_reference = by_zlib(in, container, expected, header_sum);
  demand(ok == by_reference || header_sum);  // we do not look at a gzip header's own checksum
  demand(!by_reference || ordered == expected);
  if (container == deflate::Container::headerless) {
    const auto used = deflate::inflate_whole({reinterpret_cast<const std::byte*>(in.data()), in.size()},
                                             {reinterpret_cast<std::byte*>(scattered.data()), scattered.size()},
                                             deflate::Streams::all);
    demand((used == in.size()) == by_reference);
    demand(!by_reference || scattered == expected);
  }
  return ok;
}

}  // namespace penstock::fuzz
