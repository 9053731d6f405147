#include "codec/checksum/device.hpp"

#include "device/team.hpp"

namespace penstock::checksum {
namespace {

constexpr std::uint32_t kSize = 4;

class ChecksumDevice final : public DeviceDecoder {
 public:
  ChecksumDevice(Sum sum, std::uint32_t front) : kind_(sum), front_(front) {}

  [[nodiscard]] std::string_view name() const override {
    constexpr std::string_view kNames[] = {"crc32", "crc32c", "adler32", "fletcher32"};
    return kNames[static_cast<std::size_t>(kind_.sum)];
  }
  [[nodiscard]] DecodeSpeed speed() const override { return {0.1, 1500, 5}; }
  [[nodiscard]] std::optional<Wrapping> wrapping() const override { return Wrapping{front_, kSize - front_}; }

  [[nodiscard]] Status decode(const DeviceBatch& batch, ByteSpan /*scratch*/, const Stream& stream) const override {
    if (stream.device().type != Device::Type::cpu) return check_cuda(batch, kind_, front_, stream);
    Shared shared;
    for (std::uint32_t i = 0; i < batch.size.count; ++i)
      batch.results[i] = check_chunk(HostTeam<256>(), batch.tasks[i], kind_, front_, shared);
    return {};
  }

 private:
  Kind kind_;
  std::uint32_t front_;
};

}  // namespace

std::unique_ptr<DeviceDecoder> make_device_decoder(Sum sum, std::uint32_t front) {
  return std::make_unique<ChecksumDevice>(sum, front);
}

}  // namespace penstock::checksum
