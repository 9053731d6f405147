// zstd as a step of a device's encode chain.
#include "codec/device_encoder.hpp"

#include "codec/zstd/encode/device.hpp"
#include "codec/zstd/encode/encode.hpp"
#include "codec/zstd/zstd.hpp"
#include "device/team.hpp"

namespace penstock {
namespace {

class ZstdDeviceEncoder final : public DeviceEncoder {
 public:
  explicit ZstdDeviceEncoder(bool checksum) : checksum_(checksum) {}
  [[nodiscard]] std::string_view name() const override { return "zstd"; }
  [[nodiscard]] EncodeSpeed speed() const override { return {1.5, 18, 0.1}; }
  [[nodiscard]] bool compresses() const override { return true; }
  [[nodiscard]] std::uint64_t max_bytes(std::uint64_t in_bytes) const override {
    return zstd::max_frame_bytes(in_bytes);
  }
  [[nodiscard]] std::uint64_t scratch_bytes(std::uint32_t count, std::uint64_t largest_bytes) const override {
    return zstd::EncodeLayout::make(count, largest_bytes, checksum_, nullptr).scratch_bytes(count);
  }
  [[nodiscard]] Status encode(const EncodeBatch& batch, ByteSpan scratch, const Stream& stream) const override {
    if (scratch.size() < scratch_bytes(batch.count, batch.largest_bytes))
      return Error(ErrorCode::invalid_argument, "zstd: too little scratch for the batch");
    if (stream.device().type != Device::Type::cpu) return zstd::encode_cuda(batch, scratch, checksum_, stream);
    zstd::encode_on_host(HostTeam<>(), batch, checksum_, scratch.data());
    return {};
  }

 private:
  bool checksum_;
};

}  // namespace

std::unique_ptr<DeviceEncoder> make_zstd_device_encoder(bool checksum) {
  return std::make_unique<ZstdDeviceEncoder>(checksum);
}

}  // namespace penstock
