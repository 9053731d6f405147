#include "codec/checksum/device.hpp"

#include "device/team.hpp"

namespace penstock::checksum {
namespace {

constexpr std::uint32_t kSize = 4;

constexpr std::string_view name_of(Sum sum) {
  constexpr std::string_view kNames[] = {"crc32", "crc32c", "adler32", "fletcher32"};
  return kNames[static_cast<std::size_t>(sum)];
}

class ChecksumDevice final : public DeviceDecoder {
 public:
  ChecksumDevice(Sum sum, std::uint32_t front) : kind_(sum), front_(front) {}

  [[nodiscard]] std::string_view name() const override { return name_of(kind_.sum); }
  [[nodiscard]] std::optional<Envelope> wrapping() const override { return Envelope{front_, kSize - front_}; }

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

class ChecksumDeviceEncoder final : public DeviceEncoder {
 public:
  ChecksumDeviceEncoder(Sum sum, std::uint32_t front) : kind_(sum), front_(front) {}

  [[nodiscard]] std::string_view name() const override { return name_of(kind_.sum); }
  [[nodiscard]] EncodeSpeed speed() const override { return {0.15, 750, 5}; }
  [[nodiscard]] std::uint64_t max_bytes(std::uint64_t in_bytes) const override { return in_bytes + kSize; }
  [[nodiscard]] Status encode(const EncodeBatch& batch, ByteSpan /*scratch*/, const Stream& stream) const override {
    if (stream.device().type != Device::Type::cpu) return append_cuda(batch, kind_, front_, stream);
    Shared shared;
    for (std::uint32_t i = 0; i < batch.count; ++i) append_checksum(HostTeam<256>(), batch, i, kind_, front_, shared);
    return {};
  }

 private:
  Kind kind_;
  std::uint32_t front_;
};

}  // namespace

std::unique_ptr<DeviceEncoder> make_device_encoder(Sum sum, std::uint32_t front) {
  return std::make_unique<ChecksumDeviceEncoder>(sum, front);
}

std::unique_ptr<DeviceDecoder> make_device_decoder(Sum sum, std::uint32_t front) {
  return std::make_unique<ChecksumDevice>(sum, front);
}

}  // namespace penstock::checksum
