#include "array/place/kernel_jobs.hpp"
#include "array/place/place.hpp"
#include "device/cuda/launch.cuh"

namespace penstock {

Status place_cuda(std::span<const PlaceItem> items, const Stream& stream) {
  if (stream.device().type != Device::Type::cuda)
    return Error(ErrorCode::invalid_argument,
                 "placement on CUDA needs a CUDA stream, not one of " + stream.device().name());
  PENSTOCK_ASSIGN(const place::KernelJobs jobs, place::make_kernel_jobs(items));
  return place::for_each_batch(
      jobs, [&](const auto& batch, std::uint64_t vectors) { return launch_cuda(stream, vectors, batch); });
}

}  // namespace penstock
