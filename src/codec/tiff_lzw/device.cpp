#include "codec/tiff_lzw/device.hpp"

#include <memory>

#include "device/warp.hpp"

namespace penstock::tiff {
namespace {

class LzwDevice final : public DeviceDecoder {
 public:
  explicit LzwDevice(LzwVariant variant) : variant_(variant) {}
  [[nodiscard]] std::string_view name() const override { return "tiff.lzw"; }
  [[nodiscard]] std::uint64_t scratch_bytes(const BatchSize& size) const override {
    return variant_ == LzwVariant::standard ? LzwScratch::bytes(size) : 0;
  }
  [[nodiscard]] Status decode(const DeviceBatch& batch, ByteSpan scratch, const Stream& stream) const override {
    if (stream.device().type != Device::Type::cpu) return decode_lzw_cuda(batch, variant_, scratch, stream);
    const auto shared = std::make_unique<LzwShared>();
    const HostWarp team;
    if (variant_ != LzwVariant::standard) {
      for (std::uint32_t i = 0; i < batch.size.count; ++i)
        batch.results[i] = decode_lzw_chunk(team, batch.tasks[i], variant_, *shared);
      return {};
    }
    const LzwScratch plan = LzwScratch::in(scratch, batch.size);
    for (std::uint32_t i = 0; i < batch.size.count; ++i) {
      LzwSegment* const segments = plan.segments + std::size_t{i} * plan.slots;
      find_lzw_segments(team, batch.tasks[i], plan.slots, plan.tiles[i], segments);
      for (std::uint32_t slot = 0; slot < plan.slots; ++slot)
        measure_lzw_segment(team, batch.tasks[i], plan.tiles[i], segments, slot, *shared);
      for (std::uint32_t slot = 0; slot < plan.slots; ++slot)
        decode_lzw_segment(team, batch.tasks[i], plan.tiles[i], segments, slot, *shared, batch.results[i]);
    }
    return {};
  }

 private:
  LzwVariant variant_;
};

}  // namespace

std::uint64_t LzwScratch::bytes(const BatchSize& size) {
  const std::uint64_t each = sizeof(LzwTile) + std::uint64_t{lzw_slots(size.largest_bytes)} * sizeof(LzwSegment);
  return each * size.count;
}

LzwScratch LzwScratch::in(ByteSpan scratch, const BatchSize& size) {
  return {reinterpret_cast<LzwTile*>(scratch.data()),
          reinterpret_cast<LzwSegment*>(scratch.data() + sizeof(LzwTile) * size.count), lzw_slots(size.largest_bytes)};
}

std::unique_ptr<DeviceDecoder> make_lzw_device_decoder(LzwVariant variant) {
  return std::make_unique<LzwDevice>(variant);
}

}  // namespace penstock::tiff
