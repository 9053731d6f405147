#include "codec/delta/device.hpp"

namespace penstock::delta {

Status decode_cuda(const DeviceBatch&, ScalarType, ScalarType, const Stream&) {
  return Error(ErrorCode::unsupported, "delta on CUDA: " + cuda_unavailable_reason());
}

Status decode_floats_cuda(const DeviceBatch&, const FloatDelta&, const Stream&) {
  return Error(ErrorCode::unsupported, "delta on CUDA: " + cuda_unavailable_reason());
}

}  // namespace penstock::delta
