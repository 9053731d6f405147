#include "codec/lz4_frame/device.hpp"

#include "device/team.hpp"

namespace penstock::lz4_frame {
namespace {

class Lz4FrameDevice final : public DeviceDecoder {
 public:
  [[nodiscard]] std::string_view name() const override { return "lz4 frame"; }
  [[nodiscard]] Status decode(const DeviceBatch& batch, ByteSpan /*scratch*/, const Stream& stream) const override {
    if (stream.device().type != Device::Type::cpu) return decode_cuda(batch, stream);
    SharedOfWarp shared;
    for (std::uint32_t i = 0; i < batch.size.count; ++i)
      batch.results[i] = decode_chunk(HostTeam<>(), batch.tasks[i], shared);
    return {};
  }
};

}  // namespace

std::unique_ptr<DeviceDecoder> make_device_decoder() { return std::make_unique<Lz4FrameDevice>(); }

}  // namespace penstock::lz4_frame
