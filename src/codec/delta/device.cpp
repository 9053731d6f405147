#include "codec/delta/device.hpp"

#include "device/team.hpp"

namespace penstock::delta {
namespace {

class DeltaDevice final : public DeviceDecoder {
 public:
  DeltaDevice(ScalarType from, ScalarType to) : from_(from), to_(to) {}
  [[nodiscard]] std::string_view name() const override { return "delta"; }
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

/// One lane sums each part of a chunk: only many chunks are quick.
class FloatDeltaDevice final : public DeviceDecoder {
 public:
  explicit FloatDeltaDevice(const FloatDelta& delta) : delta_(delta) {}
  [[nodiscard]] std::string_view name() const override { return "delta of floats"; }
  [[nodiscard]] Status decode(const DeviceBatch& batch, ByteSpan /*scratch*/, const Stream& stream) const override {
    if (stream.device().type != Device::Type::cpu) return decode_floats_cuda(batch, delta_, stream);
    if (delta_.sum_bytes == 4)
      decode_host<float>(batch);
    else
      decode_host<double>(batch);
    return {};
  }

 private:
  template <class T>
  void decode_host(const DeviceBatch& batch) const {
    FloatShared<T> shared;
    for (std::uint32_t i = 0; i < batch.size.count; ++i)
      batch.results[i] = decode_floats(HostTeam<>(), batch.tasks[i], delta_.from, delta_.to, delta_.parts, shared);
  }

  FloatDelta delta_;
};

}  // namespace

std::unique_ptr<DeviceDecoder> make_float_decoder(const FloatDelta& delta) {
  return std::make_unique<FloatDeltaDevice>(delta);
}

std::unique_ptr<DeviceDecoder> make_device_decoder(ScalarType from, ScalarType to) {
  return std::make_unique<DeltaDevice>(from, to);
}

}  // namespace penstock::delta
