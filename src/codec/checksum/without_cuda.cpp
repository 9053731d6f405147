#include "codec/checksum/device.hpp"

namespace penstock::checksum {

Status check_cuda(const DeviceBatch&, const Kind&, std::uint32_t, const Stream&) {
  return Error(ErrorCode::unsupported, "checksums on CUDA: " + cuda_unavailable_reason());
}

Status append_cuda(const EncodeBatch&, const Kind&, std::uint32_t, const Stream&) {
  return Error(ErrorCode::unsupported, "checksums on CUDA: " + cuda_unavailable_reason());
}

}  // namespace penstock::checksum
