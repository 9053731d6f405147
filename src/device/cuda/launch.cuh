// Tier 1 on CUDA: a grid over the indices.  The functor is a kernel parameter: up to 32,764 bytes.
#pragma once
#include <cstdint>

#include "device/cuda/error.hpp"
#include "penstock/device.hpp"

namespace penstock {

inline constexpr unsigned kLaunchThreads = 256;
/// Enough blocks to fill any GPU several times; more indices are taken in turns.
inline constexpr std::uint64_t kLaunchBlocks = 1u << 16;

template <class F>
__global__ void __launch_bounds__(kLaunchThreads) launch_kernel(std::uint64_t n, const __grid_constant__ F f) {
  const std::uint64_t all = std::uint64_t{gridDim.x} * kLaunchThreads;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kLaunchThreads + threadIdx.x; i < n; i += all) f(i);
}

/// Runs f(0) ... f(n - 1) in the order of `stream`; returns before they are done.  Errors: device_error.
template <class F>
Status launch_cuda(const Stream& stream, std::uint64_t n, const F& f) {
  if (n == 0) return {};
  const DeviceGuard guard(stream.device().index);
  PENSTOCK_TRY(guard.status());
  const std::uint64_t wanted = (n - 1) / kLaunchThreads + 1;
  const auto blocks = static_cast<unsigned>(wanted < kLaunchBlocks ? wanted : kLaunchBlocks);
  launch_kernel<<<blocks, kLaunchThreads, 0, static_cast<cudaStream_t>(stream.native())>>>(n, f);
  return cuda_status(cudaGetLastError(), "launching a kernel");
}

}  // namespace penstock
