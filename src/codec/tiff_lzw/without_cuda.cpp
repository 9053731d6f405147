#include "codec/tiff_lzw/device.hpp"

namespace penstock::tiff {

Status decode_lzw_cuda(const DeviceBatch&, LzwVariant, const Stream&) {
  return Error(ErrorCode::unsupported, "LZW on CUDA: " + cuda_unavailable_reason());
}

}  // namespace penstock::tiff
