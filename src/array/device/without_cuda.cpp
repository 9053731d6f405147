#include "array/device/fill_check.hpp"

namespace penstock {

Status check_fill_cuda(const FillCheck&, std::uint64_t, const Stream&) {
  return Error(ErrorCode::unsupported, "comparing with the fill value on CUDA: " + cuda_unavailable_reason());
}

}  // namespace penstock
