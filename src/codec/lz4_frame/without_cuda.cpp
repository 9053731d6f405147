#include "codec/lz4_frame/device.hpp"

namespace penstock::lz4_frame {

Status decode_cuda(const DeviceBatch&, const Stream&) {
  return Error(ErrorCode::unsupported, "LZ4 frames on CUDA: " + cuda_unavailable_reason());
}

}  // namespace penstock::lz4_frame
