#include "codec/lz4/device.hpp"

#include "codec/lz/without_cuda.hpp"

namespace penstock::lz4 {

Status encode_cuda(const EncodeBatch&, ByteSpan, Framing, const Stream&) {
  return Error(ErrorCode::unsupported, "lz4 on CUDA: " + cuda_unavailable_reason());
}

}  // namespace penstock::lz4

namespace penstock::lz {

template Status decode_cuda(const lz4::Format&, const DeviceBatch&, const Stream&);

}  // namespace penstock::lz
