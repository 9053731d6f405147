#include "ops/upload/upload.hpp"

namespace penstock {

Status put_on_cuda(void*, const void*, std::uint64_t, const Stream&) {
  return Error(ErrorCode::unsupported, "operators on CUDA: " + cuda_unavailable_reason());
}

}  // namespace penstock
