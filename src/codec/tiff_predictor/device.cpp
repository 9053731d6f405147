#include "codec/tiff_predictor/device.hpp"

#include "device/team.hpp"

namespace penstock::tiff {
namespace {

class PredictorDevice final : public DeviceDecoder {
 public:
  explicit PredictorDevice(const PredictorKernel& kernel) : kernel_(kernel) {}
  [[nodiscard]] std::string_view name() const override { return "tiff.predictor"; }
  [[nodiscard]] Status decode(const DeviceBatch& batch, ByteSpan /*scratch*/, const Stream& stream) const override {
    if (stream.device().type != Device::Type::cpu) return undo_predictor_cuda(batch, kernel_, stream);
    for (std::uint32_t i = 0; i < batch.size.count; ++i) {
      batch.results[i] = check_predictor(kernel_, batch.tasks[i]);
      if (batch.results[i].status != DecodeStatus::ok) continue;
      for (std::uint64_t row = 0; row < kernel_.rows.rows; ++row)
        undo_row_of_chunk(HostTeam<>(), kernel_, batch.tasks[i], row);
    }
    return {};
  }

 private:
  PredictorKernel kernel_;
};

}  // namespace

std::unique_ptr<DeviceDecoder> make_predictor_device_decoder(const PredictorKernel& kernel) {
  return std::make_unique<PredictorDevice>(kernel);
}

}  // namespace penstock::tiff
