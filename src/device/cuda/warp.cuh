// CudaTeam with the rest of what a warp can do; the contract is in device/warp.hpp.
#pragma once
#include "device/cuda/team.cuh"

namespace penstock {

/// One warp.  All 32 lanes must be alive.
struct CudaWarp : CudaTeam {
  __device__ __forceinline__ std::uint32_t ballot(bool value) const { return __ballot_sync(~0u, value); }
  __device__ __forceinline__ std::uint32_t any_bits(std::uint32_t value) const { return __reduce_or_sync(~0u, value); }
  template <class T>
  __device__ __forceinline__ T shuffle(T value, std::uint32_t from) const {
    return __shfl_sync(~0u, value, static_cast<int>(from));
  }
};

}  // namespace penstock
