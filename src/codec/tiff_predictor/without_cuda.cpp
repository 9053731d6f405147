#include "codec/tiff_predictor/device.hpp"

namespace penstock::tiff {

Status undo_predictor_cuda(const DeviceBatch&, const PredictorKernel&, const Stream&) {
  return Error(ErrorCode::unsupported, "predictors on CUDA: " + cuda_unavailable_reason());
}

}  // namespace penstock::tiff
