// Blosc chunks: the decoder for devices, in order and scattered, against c-blosc.
#pragma once
#include <blosc.h>

#include <algorithm>
#include <memory>

#include "codec/blosc/blosclz.hpp"
#include "codec/blosc/device.hpp"
#include "codec/blosc/snappy.hpp"
#include "codec/deflate/device.hpp"
#include "codec/list.hpp"
#include "codec/lz/device.hpp"
#include "codec/lz4/device.hpp"
#include "codec/zstd/zstd.hpp"
#include "core/json.hpp"
#include "device/teams.hpp"
#include "fuzz.hpp"

namespace penstock::fuzz {

/// The CPU's codec: checks the header, then c-blosc.
inline bool by_blosc_codec(const Data& in, Data& out) {
  static const auto codec = [] {
    auto made = find_codec("blosc")->make(Json::object(), ChunkSpec{{240}, DType::uint16(), {}});
    demand(made.has_value());
    return std::move(*std::get_if<std::unique_ptr<BytesToBytes>>(&*made));
  }();
  Sink sink{ByteSpan(reinterpret_cast<std::byte*>(out.data()), out.size())};
  return codec->decode({reinterpret_cast<const std::byte*>(in.data()), in.size()}, sink).has_value();
}

inline std::unique_ptr<DeviceDecoder> inner_decoder(blosc::Inner inner) {
  switch (inner) {
    case blosc::Inner::blosclz: return std::make_unique<lz::Decoder<blosc::Blosclz>>(blosc::Blosclz{});
    case blosc::Inner::lz4: return lz4::make_device_decoder(lz4::Framing::block);
    case blosc::Inner::snappy: return std::make_unique<lz::Decoder<blosc::Snappy>>(blosc::Snappy{});
    case blosc::Inner::zlib: return deflate::make_device_decoder(deflate::Container::zlib);
    default: return make_zstd_device_decoder();
  }
}

/// What the container adds to its streams, with lanes in scattered order; the streams themselves in order.
inline ChunkStatus blosc_scattered(const DecodeTask& task, blosc::Inner inner, std::uint32_t max_streams,
                                   std::uint32_t seed) {
  ChunkStatus result;
  result.status = DecodeStatus::scratch_too_small;
  const blosc::Chunk chunk = blosc::read_header(task, inner);
  if (chunk.streams > max_streams) return result;
  const std::uint32_t streams = std::max(chunk.streams, 1u);
  std::vector<blosc::Opened> opened(streams);
  std::vector<ChunkStatus> decoded(streams);
  Data shuffled(chunk.shuffled() ? task.out_bytes : 0);
  auto* const to = chunk.shuffled() ? shuffled.data() : reinterpret_cast<std::uint8_t*>(task.out);
  const auto decoder = inner_decoder(inner);
  for (std::uint32_t s = 0; s < streams; ++s) {
    opened[s] = blosc::open_stream(PermTeam<>(seed), task, chunk, s, to);
    if (opened[s].status.status != DecodeStatus::not_run) continue;
    const BatchSize size{1, opened[s].task.out_bytes, opened[s].task.out_bytes};
    demand(decoder->decode({&opened[s].task, &decoded[s], size}, scratch_of(decoder->scratch_bytes(size)), {})
               .has_value());
  }
  blosc::Shared shared;
  for (std::uint32_t part = 0; part < 3; ++part)
    result = blosc::finish_chunk(PermTeam<64>(seed), task, chunk, opened.data(), decoded.data(), max_streams, to, part,
                                 3, shared);
  return result;
}

/// What became of the chunk.
inline DecodeStatus compare_blosc(const Data& in, std::uint32_t wanted, std::uint32_t seed) {
  constexpr const char* kNames[] = {"blosclz", "lz4", "snappy", "zlib", "zstd"};
  if (in.size() < blosc::kHeaderBytes || in[2] >> 5 > 4) return DecodeStatus::bad_magic;
  const auto inner = static_cast<blosc::Inner>(in[2] >> 5);
  // As many streams as a chunk with its blocks may have, within limits: what has more goes to the CPU.
  const std::uint32_t block = std::max({128u, blosc::little32(in.data() + 8) & 0xFFFF, wanted / 32});
  const std::uint32_t item = std::max<std::uint32_t>(in[3], 1);
  const auto decoder = blosc::make_device_decoder(kNames[in[2] >> 5], item, block, 5);
  Data ordered(wanted), scattered(wanted), expected(wanted);
  const DecodeTask task = task_of(in, ordered);
  ChunkStatus result;
  const BatchSize size{1, wanted, wanted};
  demand(decoder->decode({&task, &result, size}, scratch_of(decoder->scratch_bytes(size)), {}).has_value());
  demand(result.status != DecodeStatus::not_run);
  const bool ok = result.status == DecodeStatus::ok;
  const bool cpu = by_blosc_codec(in, expected);
  demand(cpu || !ok);
  if (ok) demand(ordered == expected);
  if (result.status != DecodeStatus::scratch_too_small) {
    const std::uint32_t slots = (wanted / std::min(block, 32768u) + 1) * (item <= 16 ? item : 1);
    demand(same(result, blosc_scattered(task_of(in, scattered), inner, slots, seed)));
    if (ok) demand(ordered == scattered);
  }
  return result.status;
}

}  // namespace penstock::fuzz
