#include "device/cuda/launch.cuh"
#include "ops/sample/lane.hpp"
#include "ops/sample/types.hpp"

namespace penstock::sample {
namespace {

/// Of a grid.  So many blocks of outputs have 13 TB of coordinates: no device holds them.
constexpr std::uint64_t kMostBlocks = 0x7fffffff;

template <class Lanes>
__global__ void __launch_bounds__(kLaunchThreads, Lanes::kBlocks)
    lanes_kernel(std::uint64_t n, const __grid_constant__ Lanes lanes) {
  const std::uint64_t first = std::uint64_t{blockIdx.x} * kLaunchThreads + threadIdx.x;
  if constexpr (Lanes::kOneEach) {
    if (first < n) lanes(first);
  } else {
    for (std::uint64_t i = first; i < n; i += std::uint64_t{gridDim.x} * kLaunchThreads) lanes(i);
  }
}

/// As launch_cuda, with Lanes::kBlocks and Lanes::kOneEach.
template <class Lanes>
Status launch_lanes(const Stream& stream, const Lanes& lanes) {
  const std::uint64_t n = lanes.lanes(), wanted = (n + kLaunchThreads - 1) / kLaunchThreads;
  if (n == 0) return {};
  const DeviceGuard guard(stream.device().index);
  PENSTOCK_TRY(guard.status());
  const std::uint64_t most = Lanes::kOneEach ? kMostBlocks : kLaunchBlocks;
  const auto blocks = static_cast<unsigned>(wanted < most ? wanted : most);
  lanes_kernel<<<blocks, kLaunchThreads, 0, static_cast<cudaStream_t>(stream.native())>>>(n, lanes);
  return cuda_status(cudaGetLastError(), "launching samples");
}

}  // namespace

template <class T, class C>
Status run_on_cuda(const SampleJob<T, C>& job, const Stream& stream) {
  Status status;
  if (!with_lanes(job, [&](const auto& lanes) { static_cast<void>(status = launch_lanes(stream, lanes)); }))
    return unfit();
  return status;
}
#define PENSTOCK_INSTANTIATE(T, C) template Status run_on_cuda(const SampleJob<T, C>&, const Stream&);
PENSTOCK_SAMPLE_TYPES(PENSTOCK_INSTANTIATE)

}  // namespace penstock::sample
