#include "ops/element/element.hpp"

namespace penstock::element {

Status cast_on_cuda(const DType&, const void*, const DType&, void*, std::uint64_t, Rounding, const Stream&) {
  return Error(ErrorCode::unsupported, "operators on CUDA: " + cuda_unavailable_reason());
}

}  // namespace penstock::element
