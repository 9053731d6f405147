// LZ4 blocks, LZ4 frames, blosclz and Snappy: the decoders for devices, in order and scattered, against liblz4 and
// c-blosc.  Each function returns whether the stream was right.
#pragma once
#include <lz4.h>

#include <algorithm>

#include "codec/blosc/blosclz.hpp"
#include "codec/blosc/snappy.hpp"
#include "codec/lz4_frame/device.hpp"
#include "device/blosc_stream.hpp"
#include "device/lz4_frame_data.hpp"
#include "device/teams.hpp"
#include "fuzz.hpp"

namespace penstock::fuzz {

inline bool compare_lz4_block(const Data& in, std::uint32_t capacity, std::uint32_t seed) {
  const auto in_bytes = static_cast<std::uint32_t>(in.size());
  Data ordered(capacity), scattered(capacity), reference(std::size_t{capacity} + 1);
  lz4::SharedOfWarp warp;
  lz4::SharedOfBlock block;
  const lz4::Cursor x = lz4::decode_block(HostTeam<>(), in.data(), in_bytes, ordered.data(), capacity, warp);
  const lz4::Cursor y = lz4::decode_block(PermTeam<64>(seed), in.data(), in_bytes, scattered.data(), capacity, block);
  demand(x.status == y.status && x.in == y.in && x.out == y.out && ordered == scattered);

  const bool ok = x.status == DecodeStatus::ok;
  if (capacity == 0) return ok;  // liblz4 then also looks at the unused half of the token
  // liblz4 accepts match offset 0, which the format calls corrupt.
  if (x.status == DecodeStatus::bad_offset && in[x.in - 1] == 0 && in[x.in - 2] == 0) return false;
  const int made =
      LZ4_decompress_safe(reinterpret_cast<const char*>(in.data()), reinterpret_cast<char*>(reference.data()),
                          static_cast<int>(in.size()), static_cast<int>(capacity));
  demand(ok || made < 0);
  demand((ok && x.out == capacity) == (made >= 0 && static_cast<std::uint32_t>(made) == capacity));
  if (made < 0) return false;
  demand(x.out == static_cast<std::uint32_t>(made) &&
         std::equal(ordered.begin(), ordered.begin() + made, reference.begin()));
  return x.out == capacity;
}

inline bool compare_lz4_frame(const Data& in, std::uint32_t wanted, std::uint32_t seed) {
  Data ordered(wanted), scattered(wanted);
  lz4_frame::SharedOfWarp warp;
  lz4_frame::SharedOfBlock block;
  const ChunkStatus x = lz4_frame::decode_chunk(HostTeam<>(), task_of(in, ordered), warp);
  demand(same(x, lz4_frame::decode_chunk(PermTeam<64>(seed), task_of(in, scattered), block)));
  demand(ordered == scattered && x.position <= in.size());
  const auto reference = test::by_liblz4_frame(in, wanted);
  if (x.status == DecodeStatus::ok) {
    demand(reference.has_value() && ordered == *reference);
    return true;
  }
  // What is refused on purpose: see lz4_frame/decode.hpp.
  const bool stricter = x.status == DecodeStatus::needs_dictionary || x.status == DecodeStatus::bad_end ||
                        x.status == DecodeStatus::bad_offset || x.status == DecodeStatus::bad_header;
  demand(stricter || !reference.has_value());
  return false;
}

/// Format: blosc::Blosclz or blosc::Snappy.
template <class Format>
bool compare_blosc_stream(const Data& in, std::uint32_t wanted, std::uint32_t seed) {
  constexpr blosc::Inner kInner = std::is_same_v<Format, blosc::Blosclz> ? blosc::Inner::blosclz : blosc::Inner::snappy;
  Data ordered(wanted), scattered(wanted);
  lz::SharedOfWarp warp;
  lz::SharedOfBlock block;
  const ChunkStatus x = lz::decode_chunk(HostTeam<>(), Format{}, task_of(in, ordered), warp);
  demand(same(x, lz::decode_chunk(PermTeam<64>(seed), Format{}, task_of(in, scattered), block)));
  demand(ordered == scattered);
  const bool ok = x.status == DecodeStatus::ok;
  if (wanted == 0 || in.size() == wanted) return ok;  // the container has no such streams
  const auto reference = test::by_c_blosc(kInner, in, wanted);
  demand(ok == reference.has_value());
  demand(!ok || ordered == *reference);
  return ok;
}

}  // namespace penstock::fuzz
