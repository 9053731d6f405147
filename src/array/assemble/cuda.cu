#include "array/assemble/kernel_jobs.hpp"
#include "device/cuda/launch.cuh"

namespace penstock::place {

Status run_cuda(const KernelJobs& jobs, const Stream& stream) {
  if (stream.device().type != Device::Type::cuda)
    return Error(ErrorCode::invalid_argument,
                 "placement on CUDA needs a CUDA stream, not one of " + stream.device().name());
  return for_each_batch(jobs,
                        [&](const auto& batch, std::uint64_t vectors) { return launch_cuda(stream, vectors, batch); });
}

}  // namespace penstock::place
