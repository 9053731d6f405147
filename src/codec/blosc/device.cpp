#include "codec/blosc/device.hpp"

#include <algorithm>
#include <optional>

#include "codec/blosc/blosclz.hpp"
#include "codec/blosc/snappy.hpp"
#include "codec/deflate/device.hpp"
#include "codec/lz/device.hpp"
#include "codec/lz4/device.hpp"
#include "codec/zstd/zstd.hpp"
#include "device/team.hpp"

namespace penstock::blosc {
namespace {

constexpr std::uint64_t kAlign = 256;
constexpr std::uint64_t aligned(std::uint64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

/// c-blosc, old and new, chooses no smaller blocks by itself at this level.
constexpr std::uint64_t smallest_block(int level) { return level < 1 ? 8192 : level < 4 ? 16384 : 32768; }
/// The most streams of a block.
constexpr std::uint32_t kMaxSplits = 16;

class BloscDevice final : public DeviceDecoder {
 public:
  BloscDevice(Inner inner, std::unique_ptr<DeviceDecoder> decoder, std::uint32_t item_bytes, std::uint64_t block_bytes,
              int level)
      : inner_(inner),
        decoder_(std::move(decoder)),
        splits_(item_bytes <= kMaxSplits ? item_bytes : 1),
        block_bytes_(block_bytes == 0 ? smallest_block(level)
                                      : std::clamp<std::uint64_t>(block_bytes, 128, smallest_block(level))),
        name_("blosc(" + std::string(decoder_->name()) + ")") {}

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::uint64_t scratch_bytes(const BatchSize& size) const override {
    return lay_out(size, nullptr).total;
  }

  [[nodiscard]] Status decode(const DeviceBatch& batch, ByteSpan scratch, const Stream& stream) const override {
    const Layout layout = lay_out(batch.size, scratch.data());
    if (layout.total > scratch.size()) return Error(ErrorCode::invalid_argument, "blosc: the scratch is too small");
    if (batch.size.count == 0) return {};
    const bool on_cpu = stream.device().type == Device::Type::cpu;
    const Workspace& ws = layout.workspace;
    const ByteSpan rest = scratch.subspan(layout.inner_at);
    PENSTOCK_TRY(on_cpu ? open_host(batch, ws) : open_cuda(batch, ws, inner_, stream));
    PENSTOCK_TRY(decoder_->decode({ws.tasks, ws.decoded, inner_size(batch.size, ws.slots)}, rest, stream));
    return on_cpu ? finish_host(batch, ws) : finish_cuda(batch, ws, inner_, stream);
  }

 private:
  struct Layout {
    Workspace workspace;
    std::uint64_t inner_at = 0, total = 0;
  };

  static BatchSize inner_size(const BatchSize& size, std::uint32_t slots) {
    return {size.count * slots, size.decoded_bytes, size.largest_bytes};
  }

  [[nodiscard]] Layout lay_out(const BatchSize& size, std::byte* at) const {
    Layout out;
    Workspace& ws = out.workspace;
    // As many streams as a chunk can have by its configuration, and no more than a batch can count.
    const std::uint64_t wanted = (size.largest_bytes / block_bytes_ + 1) * splits_;
    const std::uint64_t most = (std::uint64_t{1} << 30) / std::max<std::uint32_t>(size.count, 1);
    ws.slots = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted, 1, std::max<std::uint64_t>(most, 1)));
    const std::uint64_t n = std::uint64_t{size.count} * ws.slots;
    std::uint64_t end = 0;
    const auto take = [&](std::uint64_t bytes) {
      std::byte* const begin = at == nullptr ? nullptr : at + end;
      end += aligned(bytes);
      return begin;
    };
    ws.opened = reinterpret_cast<Opened*>(take(n * sizeof(Opened)));
    ws.tasks = reinterpret_cast<DecodeTask*>(take(n * sizeof(DecodeTask)));
    ws.decoded = reinterpret_cast<ChunkStatus*>(take(n * sizeof(ChunkStatus)));
    ws.stride = aligned(size.largest_bytes);
    ws.streams = take(size.count * ws.stride);
    out.inner_at = end;
    out.total = end + decoder_->scratch_bytes(inner_size(size, ws.slots));
    return out;
  }

  [[nodiscard]] Status open_host(const DeviceBatch& batch, const Workspace& ws) const {
    for (std::uint32_t i = 0; i < batch.size.count; ++i) {
      const DecodeTask& task = batch.tasks[i];
      const Chunk chunk = read_header(task, inner_);
      for (std::uint32_t s = 0; s < ws.slots; ++s) {
        const std::uint64_t slot = std::uint64_t{i} * ws.slots + s;
        ws.opened[slot] = open_stream(HostTeam<>(), task, chunk, s, streams_of(ws, task, chunk, i));
        ws.tasks[slot] = ws.opened[slot].task;
      }
    }
    return {};
  }
  [[nodiscard]] Status finish_host(const DeviceBatch& batch, const Workspace& ws) const {
    Shared shared;
    for (std::uint32_t i = 0; i < batch.size.count; ++i) {
      const DecodeTask& task = batch.tasks[i];
      const Chunk chunk = read_header(task, inner_);
      const std::uint64_t first = std::uint64_t{i} * ws.slots;
      for (std::uint32_t part = 0; part < 2; ++part)
        batch.results[i] = finish_chunk(HostTeam<>(), task, chunk, ws.opened + first, ws.decoded + first, ws.slots,
                                        streams_of(ws, task, chunk, i), part, 2, shared);
    }
    return {};
  }

  Inner inner_;
  std::unique_ptr<DeviceDecoder> decoder_;
  std::uint32_t splits_;
  std::uint64_t block_bytes_;
  std::string name_;
};

}  // namespace

std::unique_ptr<DeviceDecoder> make_device_decoder(std::string_view cname, std::uint32_t item_bytes,
                                                   std::uint64_t block_bytes, int level) {
  const auto make = [&](Inner inner, std::unique_ptr<DeviceDecoder> decoder) -> std::unique_ptr<DeviceDecoder> {
    return std::make_unique<BloscDevice>(inner, std::move(decoder), item_bytes, block_bytes, level);
  };
  if (cname == "blosclz") return make(Inner::blosclz, std::make_unique<lz::Decoder<Blosclz>>(Blosclz{}));
  if (cname == "snappy") return make(Inner::snappy, std::make_unique<lz::Decoder<Snappy>>(Snappy{}));
  if (cname == "lz4" || cname == "lz4hc") return make(Inner::lz4, lz4::make_device_decoder(lz4::Framing::block));
  if (cname == "zlib") return make(Inner::zlib, deflate::make_device_decoder(deflate::Container::zlib));
  if (cname == "zstd") return make(Inner::zstd, make_zstd_device_decoder());
  return nullptr;
}

}  // namespace penstock::blosc
