// Predictors undone on a device, a warp for each row.
#pragma once
#include <memory>

#include "codec/device_decoder.hpp"
#include "codec/tiff_predictor/kernel.hpp"

namespace penstock::tiff {

/// Errors: as DeviceDecoder::decode.
[[nodiscard]] Status undo_predictor_cuda(const DeviceBatch& batch, const PredictorKernel& kernel, const Stream& stream);

std::unique_ptr<DeviceDecoder> make_predictor_device_decoder(const PredictorKernel& kernel);

}  // namespace penstock::tiff
