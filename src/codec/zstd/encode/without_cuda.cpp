#include "codec/zstd/encode/device.hpp"

namespace penstock::zstd {

Status encode_cuda(const EncodeBatch&, ByteSpan, bool, const Stream&) {
  return Error(ErrorCode::unsupported, "zstd on CUDA: " + cuda_unavailable_reason());
}

}  // namespace penstock::zstd
