// Bytes as a Blosc chunk: the decoder for devices on the host against c-blosc.
// Input: two bytes of decoded size, then the chunk.
#include <blosc.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "codec/blosc/device.hpp"
#include "codec/list.hpp"

using namespace penstock;

namespace {

void demand(bool holds) {
  if (!holds) __builtin_trap();
}

constexpr const char* kNames[] = {"blosclz", "lz4", "snappy", "zlib", "zstd"};

/// The CPU's codec: checks the header, then c-blosc.
bool on_cpu(ByteView in, std::vector<std::byte>& out) {
  static const auto codec = [] {
    auto made = find_codec("blosc")->make(Json::object(), ChunkSpec{{240}, DType::uint16(), {}});
    demand(made.has_value());
    return std::move(*std::get_if<std::unique_ptr<BytesToBytes>>(&*made));
  }();
  Sink sink{ByteSpan(out)};
  return codec->decode(in, sink).has_value();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2 + 16) return 0;
  const std::size_t wanted = data[0] | static_cast<std::size_t>(data[1]) << 8;
  const std::vector<std::byte> in(reinterpret_cast<const std::byte*>(data) + 2,
                                  reinterpret_cast<const std::byte*>(data) + size);
  const std::uint32_t inner = std::to_integer<std::uint32_t>(in[2]) >> 5;
  if (inner > 4) return 0;
  const auto decoder = blosc::make_device_decoder(kNames[inner], std::to_integer<std::uint32_t>(in[3]), 128, 5);
  if (!decoder) return 0;
  std::vector<std::byte> out(wanted), expected(wanted);
  const DecodeTask task{in.data(), in.size(), out.data(), wanted};
  ChunkStatus result;
  const DeviceBatch batch{&task, &result, {1, wanted, wanted}};
  const auto memory = Memory::create({}, 0);
  const auto scratch = (*memory)->allocate(decoder->scratch_bytes(batch.size), 256, {});
  demand(scratch.has_value());
  demand(decoder->decode(batch, {scratch->data(), scratch->size()}, {}).has_value());
  demand(result.status != DecodeStatus::not_run);
  const bool ok = result.status == DecodeStatus::ok;
  const bool cpu = on_cpu(in, expected);
  demand(cpu || !ok);
  if (ok) demand(out == expected);
  return 0;
}
