#include "codec/tiff_lzw/device.hpp"

#include "codec/tiff_lzw/kernel.hpp"
#include "device/team.hpp"

namespace penstock::tiff {
namespace {

class LzwDevice final : public DeviceDecoder {
 public:
  explicit LzwDevice(LzwVariant variant) : variant_(variant) {}
  [[nodiscard]] std::string_view name() const override { return "tiff.lzw"; }
  [[nodiscard]] Status decode(const DeviceBatch& batch, ByteSpan /*scratch*/, const Stream& stream) const override {
    if (stream.device().type != Device::Type::cpu) return decode_lzw_cuda(batch, variant_, stream);
    LzwShared shared;
    for (std::uint32_t i = 0; i < batch.size.count; ++i)
      batch.results[i] = decode_lzw_chunk(HostTeam<>(), batch.tasks[i], variant_, shared);
    return {};
  }

 private:
  LzwVariant variant_;
};

}  // namespace

std::unique_ptr<DeviceDecoder> make_lzw_device_decoder(LzwVariant variant) {
  return std::make_unique<LzwDevice>(variant);
}

}  // namespace penstock::tiff
