// What device code needs of the machine and C++ does not offer, on every compiler.
#pragma once
#include <cstdint>
#include <cstring>

#if defined(__CUDACC__)
/// A function that runs on the host and on the device.
#define PENSTOCK_HD __host__ __device__ __forceinline__
#define PENSTOCK_UNROLL _Pragma("unroll")
#else
#define PENSTOCK_HD inline
#define PENSTOCK_UNROLL
#endif

namespace penstock {

/// 16 bytes moved as one.
struct alignas(16) Bytes16 {
  std::uint32_t word[4];
};

/// Low 32 bits of (high:low) >> shift; shift is 0 to 31.
PENSTOCK_HD std::uint32_t shift_right(std::uint32_t low, std::uint32_t high, std::uint32_t shift) {
#if defined(__CUDA_ARCH__)
  return __funnelshift_r(low, high, shift);
#else
  return static_cast<std::uint32_t>(((static_cast<std::uint64_t>(high) << 32) | low) >> shift);
#endif
}

/// Reads a T at an address that is a multiple of its size.
template <class T>
PENSTOCK_HD T load_aligned(const void* from) {
#if defined(__CUDA_ARCH__)
  return *static_cast<const T*>(from);
#else
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
#endif
}
template <class T>
PENSTOCK_HD void store_aligned(void* to, T value) {
#if defined(__CUDA_ARCH__)
  *static_cast<T*>(to) = value;
#else
  std::memcpy(to, &value, sizeof value);
#endif
}

}  // namespace penstock
