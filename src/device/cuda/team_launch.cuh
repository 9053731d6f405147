// A launch of Teams: warps that take numbers below `n` one after the other, so that long ones hold up none.
#pragma once
#include <cstdint>

#include "device/cuda/error.hpp"
#include "device/cuda/team.cuh"
#include "device/team.hpp"
#include "penstock/device.hpp"

namespace penstock {

inline constexpr std::uint32_t kTeamLaunchWarps = 4;  // of a block, unless said otherwise

/// `Scratch`: what each team shares; the functor is called as f(team, i, scratch).
template <class Scratch, class F, std::uint32_t Warps>
__global__ void __launch_bounds__(Warps * 32)
    team_kernel(std::uint32_t n, std::uint32_t* next, const __grid_constant__ F f) {
  __shared__ Scratch scratch[Warps];
  const CudaTeam team;
  for (;;) {
    const std::uint32_t i = team_take(team, next, 1);
    if (i >= n) return;
    f(team, i, scratch[threadIdx.x / 32]);
  }
}

/// Runs f for every number below `n` in the order of `stream`; returns before they are done.  `next`: a number in
/// device memory, for the launch alone.  Errors: device_error.
template <class Scratch, class F, std::uint32_t Warps = kTeamLaunchWarps>
Status launch_teams_cuda(const Stream& stream, std::uint32_t n, std::uint32_t* next, const F& f) {
  if (n == 0) return {};
  const DeviceGuard guard(stream.device().index);
  PENSTOCK_TRY(guard.status());
  const auto native = static_cast<cudaStream_t>(stream.native());
  PENSTOCK_TRY(cuda_status(cudaMemsetAsync(next, 0, sizeof *next, native), "clearing a counter"));
  int per_multiprocessor = 0, multiprocessors = 0;
  PENSTOCK_TRY(cuda_status(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, team_kernel<Scratch, F, Warps>, Warps * 32, 0),
      "asking how many teams fit"));
  PENSTOCK_TRY(
      cuda_status(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, stream.device().index),
                  "asking for the number of multiprocessors"));
  const std::uint32_t fit = static_cast<std::uint32_t>(per_multiprocessor > 0 ? per_multiprocessor : 1) *
                            static_cast<std::uint32_t>(multiprocessors);
  const std::uint32_t wanted = (n - 1) / Warps + 1;
  const std::uint32_t blocks = wanted < fit ? wanted : fit;
  const auto kernel = team_kernel<Scratch, F, Warps>;
  kernel<<<blocks, Warps * 32, 0, native>>>(n, next, f);
  return cuda_status(cudaGetLastError(), "launching a kernel");
}

}  // namespace penstock
