#include "codec/deflate/device.hpp"

#include "device/team.hpp"

namespace penstock::deflate {
namespace {

class DeflateDevice final : public DeviceDecoder {
 public:
  explicit DeflateDevice(Container container) : container_(container) {}
  [[nodiscard]] std::string_view name() const override {
    constexpr std::string_view kNames[] = {"deflate", "zlib", "gzip"};
    return kNames[static_cast<std::size_t>(container_)];
  }

  [[nodiscard]] Status decode(const DeviceBatch& batch, ByteSpan /*scratch*/, const Stream& stream) const override {
    if (stream.device().type != Device::Type::cpu) return decode_cuda(batch, container_, stream);
    static constexpr checksum::Kind kCrc32(checksum::Sum::crc32);
    const auto shared = std::make_unique<Shared>();
    for (std::uint32_t i = 0; i < batch.size.count; ++i)
      batch.results[i] = decode_chunk(HostTeam<>(), batch.tasks[i], container_, kCrc32.crc, *shared);
    return {};
  }

 private:
  Container container_;
};

}  // namespace

std::unique_ptr<DeviceDecoder> make_device_decoder(Container container) {
  return std::make_unique<DeflateDevice>(container);
}

}  // namespace penstock::deflate
