// The Teams of CUDA: a warp, or a block of threads; the only file with warp intrinsics.  The contract is in
// device/team.hpp.
#pragma once
#include <cstdint>

#include "device/portable.hpp"

namespace penstock {

/// What a warp and a block of N threads have in common.
template <class Self, std::uint32_t N>
struct CudaLanes {
  static constexpr std::uint32_t lanes = N;
  template <class T>
  using var = T;  // one per lane: a register

  __device__ __forceinline__ static std::uint32_t lane() { return threadIdx.x % lanes; }

  template <class F>
  __device__ __forceinline__ void for_each(std::uint32_t n, F f) const {
    for (std::uint32_t i = lane(); i < n; i += lanes) f(i);
    Self::barrier();
  }
  template <int U, class Load, class Store>
  __device__ __forceinline__ void for_each_batched(std::uint32_t n, Load load, Store store) const {
    for (std::uint32_t i = lane(); i < n; i += lanes * U) {
      decltype(load(0u)) values[U];
#pragma unroll
      for (int u = 0; u < U; ++u)
        if (i + u * lanes < n) values[u] = load(i + u * lanes);
#pragma unroll
      for (int u = 0; u < U; ++u)
        if (i + u * lanes < n) store(i + u * lanes, values[u]);
    }
    Self::barrier();
  }
  template <class F>
  __device__ __forceinline__ void each_lane(F f) const {
    f(lane());
    Self::barrier();
  }
  template <class F>
  __device__ __forceinline__ auto map(F f) const {
    auto value = f(lane());
    Self::barrier();
    return value;
  }
  template <class T>
  __device__ __forceinline__ static T& at(T& value, std::uint32_t) {
    return value;
  }
};

/// One warp.  All 32 lanes must be alive.
struct CudaTeam : CudaLanes<CudaTeam, 32> {
  __device__ __forceinline__ static void barrier() { __syncwarp(); }

  template <class F>
  __device__ __forceinline__ void leader(F f) const {
    f(*this);
    __syncwarp();
  }

  template <class T>
  __device__ __forceinline__ T broadcast(T value, std::uint32_t from) const {
    return __shfl_sync(~0u, value, static_cast<int>(from));
  }
  __device__ __forceinline__ std::uint32_t first(bool value) const {
    const unsigned holders = __ballot_sync(~0u, value);
    return holders == 0 ? lanes : static_cast<std::uint32_t>(__ffs(static_cast<int>(holders)) - 1);
  }
  template <class T>
  __device__ __forceinline__ T inclusive_sum(T value) const {
#pragma unroll
    for (unsigned distance = 1; distance < lanes; distance *= 2) {
      const T other = __shfl_up_sync(~0u, value, distance);
      if (lane() >= distance) value = static_cast<T>(value + other);
    }
    return value;
  }
  __device__ __forceinline__ std::uint32_t largest(std::uint32_t value) const { return __reduce_max_sync(~0u, value); }
};

/// All N threads of a block, which must be alive.  Without the collectives of a warp.
template <std::uint32_t N>
struct CudaBlockTeam : CudaLanes<CudaBlockTeam<N>, N> {
  __device__ __forceinline__ static void barrier() { __syncthreads(); }

  template <class F>
  __device__ __forceinline__ void leader(F f) const {
    if (threadIdx.x < CudaTeam::lanes) f(CudaTeam{});
    barrier();
  }
};

}  // namespace penstock
