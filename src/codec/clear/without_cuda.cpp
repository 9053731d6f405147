#include "codec/clear/clear.hpp"

namespace penstock {

Status clear_refused_cuda(const DeviceBatch&, const Stream&) {
  return Error(ErrorCode::unsupported, "clearing on CUDA: " + cuda_unavailable_reason());
}

}  // namespace penstock
