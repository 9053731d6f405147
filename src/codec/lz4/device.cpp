#include "codec/lz4/device.hpp"

#include "codec/lz4/encode.hpp"
#include "device/team.hpp"

namespace penstock::lz4 {
namespace {

class Lz4DeviceEncoder final : public DeviceEncoder {
 public:
  explicit Lz4DeviceEncoder(Framing framing) : framing_(framing) {}
  [[nodiscard]] std::string_view name() const override { return "lz4"; }
  [[nodiscard]] EncodeSpeed speed() const override { return {1.3, 20, 0.3}; }
  [[nodiscard]] bool compresses() const override { return true; }
  [[nodiscard]] std::uint64_t max_bytes(std::uint64_t in_bytes) const override {
    return header_bytes(framing_) + bound(in_bytes);
  }
  [[nodiscard]] std::uint64_t scratch_bytes(std::uint32_t count, std::uint64_t largest_bytes) const override {
    return EncodeLayout::make(count, largest_bytes, nullptr).scratch_bytes(count);
  }
  [[nodiscard]] Status encode(const EncodeBatch& batch, ByteSpan scratch, const Stream& stream) const override {
    if (scratch.size() < scratch_bytes(batch.count, batch.largest_bytes))
      return Error(ErrorCode::invalid_argument, "lz4: too little scratch for the batch");
    if (stream.device().type != Device::Type::cpu) return encode_cuda(batch, scratch, framing_, stream);
    encode_on_host(HostTeam<>(), batch, framing_, scratch.data());
    return {};
  }

 private:
  Framing framing_;
};

}  // namespace

std::unique_ptr<DeviceEncoder> make_device_encoder(Framing framing) {
  return std::make_unique<Lz4DeviceEncoder>(framing);
}

std::unique_ptr<DeviceDecoder> make_device_decoder(Framing framing) {
  return std::make_unique<lz::Decoder<Format>>(Format{framing});
}

}  // namespace penstock::lz4
