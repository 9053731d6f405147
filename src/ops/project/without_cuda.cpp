#include "ops/project/project.hpp"

namespace penstock {

Status project_max_cuda(const DType&, const ProjectShape&, const void*, void*, bool, const Stream&) {
  return Error(ErrorCode::unsupported, "projection on CUDA: " + cuda_unavailable_reason());
}

}  // namespace penstock
