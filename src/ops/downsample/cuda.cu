#include "device/cuda/launch.cuh"
#include "ops/downsample/downsample.hpp"

namespace penstock::downsample {

Status downsample_on_cuda(const Work& work, std::uint64_t elements, const Stream& stream) {
  Status status;
  with_job(work, [&](const auto& job) { static_cast<void>(status = launch_cuda(stream, elements, job)); });
  return status;
}

}  // namespace penstock::downsample
