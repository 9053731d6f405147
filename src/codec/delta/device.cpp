#include "codec/delta/device.hpp"

#include "device/team.hpp"

namespace penstock::delta {
namespace {

class DeltaDevice final : public DeviceDecoder {
 public:
  DeltaDevice(ScalarType from, ScalarType to) : from_(from), to_(to) {}
  [[nodiscard]] std::string_view name() const override { return "delta"; }
  [[nodiscard]] DecodeSpeed speed() const override { return {0.5, 200, 1.5}; }
  [[nodiscard]] Status decode(const DeviceBatch& batch, ByteSpan /*scratch*/, const Stream& stream) const override {
    if (stream.device().type != Device::Type::cpu) return decode_cuda(batch, from_, to_, stream);
    Shared<256> shared;
    for (std::uint32_t i = 0; i < batch.size.count; ++i)
      batch.results[i] = decode_chunk(HostTeam<256>(), batch.tasks[i], from_, to_, shared);
    return {};
  }

 private:
  ScalarType from_, to_;
};

}  // namespace

std::unique_ptr<DeviceDecoder> make_device_decoder(ScalarType from, ScalarType to) {
  return std::make_unique<DeltaDevice>(from, to);
}

}  // namespace penstock::delta
