#include "ops/downsample/downsample.hpp"

namespace penstock::downsample {

Status downsample_on_cuda(const Work&, std::uint64_t, const Stream&) {
  return Error(ErrorCode::unsupported, "operators on CUDA: " + cuda_unavailable_reason());
}

}  // namespace penstock::downsample
