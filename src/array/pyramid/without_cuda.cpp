#include "array/pyramid/level.hpp"

namespace penstock::pyramid {

Status level_on_cuda(Downsample, const DType&, const LevelShape&, const void*, void*, std::uint64_t, const Stream&) {
  return Error(ErrorCode::unsupported, "pyramids on CUDA: " + cuda_unavailable_reason());
}

}  // namespace penstock::pyramid
