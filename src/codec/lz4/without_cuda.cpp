#include "codec/lz4/device.hpp"

namespace penstock::lz4 {

Status decode_cuda(const DecodeTask*, std::uint32_t, ChunkStatus*, Framing, const Stream&) {
  return Error(ErrorCode::unsupported, "lz4 on CUDA: " + cuda_unavailable_reason());
}

Status encode_cuda(const EncodeBatch&, ByteSpan, Framing, const Stream&) {
  return Error(ErrorCode::unsupported, "lz4 on CUDA: " + cuda_unavailable_reason());
}

}  // namespace penstock::lz4
