#include "codec/lz4/device.hpp"

#include "device/team.hpp"

namespace penstock::lz4 {
namespace {

class Lz4Device final : public DeviceDecoder {
 public:
  explicit Lz4Device(Framing framing) : framing_(framing) {}
  [[nodiscard]] std::string_view name() const override { return "lz4"; }
  [[nodiscard]] DecodeSpeed speed() const override { return {10, 100, 1.2}; }

  [[nodiscard]] Status decode(const DeviceBatch& batch, ByteSpan /*scratch*/, const Stream& stream) const override {
    if (stream.device().type != Device::Type::cpu)
      return decode_cuda(batch.tasks, batch.size.count, batch.results, framing_, stream);
    SharedOfWarp shared;
    for (std::uint32_t i = 0; i < batch.size.count; ++i)
      batch.results[i] = decode_chunk(HostTeam<>(), batch.tasks[i], framing_, shared);
    return {};
  }

 private:
  Framing framing_;
};

}  // namespace

std::unique_ptr<DeviceDecoder> make_device_decoder(Framing framing) { return std::make_unique<Lz4Device>(framing); }

}  // namespace penstock::lz4
