#include "array/assemble/kernel_jobs.hpp"

namespace penstock::place {

Status run_cuda(const KernelJobs&, const Stream&) {
  return Error(ErrorCode::unsupported, "placement on CUDA: " + cuda_unavailable_reason());
}

}  // namespace penstock::place
