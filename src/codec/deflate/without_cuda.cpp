#include "codec/deflate/device.hpp"

namespace penstock::deflate {

Status decode_cuda(const DeviceBatch&, Container, const Stream&) {
  return Error(ErrorCode::unsupported, "DEFLATE on CUDA: " + cuda_unavailable_reason());
}

}  // namespace penstock::deflate
