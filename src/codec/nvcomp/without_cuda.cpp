#include "codec/nvcomp/device.hpp"

namespace penstock::nvcomp {

Status decode_cuda(const Library&, Format, const DeviceBatch&, const Arrays&, ByteSpan, const Stream&) {
  return Error(ErrorCode::unsupported, "nvCOMP: " + cuda_unavailable_reason());
}

}  // namespace penstock::nvcomp
