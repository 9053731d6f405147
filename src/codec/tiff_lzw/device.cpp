#include "codec/tiff_lzw/device.hpp"

#include <memory>
#include <new>

#include "codec/tiff_lzw/block.hpp"
#include "device/team.hpp"

namespace penstock::tiff {
namespace {

class LzwDevice final : public DeviceDecoder {
 public:
  explicit LzwDevice(LzwVariant variant) : variant_(variant) {}
  [[nodiscard]] std::string_view name() const override { return "tiff.lzw"; }
  [[nodiscard]] Status decode(const DeviceBatch& batch, ByteSpan /*scratch*/, const Stream& stream) const override {
    if (stream.device().type != Device::Type::cpu) return decode_lzw_cuda(batch, variant_, stream);
    using Team = HostTeam<128>;
    const std::unique_ptr<LzwShared<Team::lanes>> shared(new (std::nothrow) LzwShared<Team::lanes>);
    if (!shared) return Error(ErrorCode::out_of_memory, "the table of an LZW decoder");
    for (std::uint32_t i = 0; i < batch.size.count; ++i)
      batch.results[i] = decode_lzw_chunk(Team(), batch.tasks[i], variant_, *shared);
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
