// What device code needs of the machine and C++ does not offer, on every compiler.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>
#if !defined(__CUDA_ARCH__)
#include <atomic>
#endif

#if defined(__CUDACC__)
/// A function that runs on the host and on the device.
#define PENSTOCK_HD __host__ __device__ __forceinline__
/// The same, for one that is too large to be copied to where it is called.
#define PENSTOCK_HD_CALLED inline __host__ __device__ __noinline__
#define PENSTOCK_UNROLL _Pragma("unroll")
#define PENSTOCK_NO_UNROLL _Pragma("unroll 1")
#else
#define PENSTOCK_HD inline
#define PENSTOCK_HD_CALLED inline
#define PENSTOCK_UNROLL
#define PENSTOCK_NO_UNROLL
#endif

namespace penstock {

/// 16 bytes moved as one.
struct alignas(16) Bytes16 {
  std::uint32_t word[4];
};

/// Low 32 bits of (high:low) >> shift; the shift counts modulo 32.
PENSTOCK_HD std::uint32_t shift_right(std::uint32_t low, std::uint32_t high, std::uint32_t shift) {
#if defined(__CUDA_ARCH__)
  return __funnelshift_r(low, high, shift);
#else
  return static_cast<std::uint32_t>(((static_cast<std::uint64_t>(high) << 32) | low) >> (shift & 31));
#endif
}
/// High 32 bits of (high:low) << shift; the shift counts modulo 32.
PENSTOCK_HD std::uint32_t shift_left(std::uint32_t low, std::uint32_t high, std::uint32_t shift) {
#if defined(__CUDA_ARCH__)
  return __funnelshift_l(low, high, shift);
#else
  return static_cast<std::uint32_t>((((static_cast<std::uint64_t>(high) << 32) | low) << (shift & 31)) >> 32);
#endif
}

/// Position of the highest bit that is set; `value` is not 0.
PENSTOCK_HD std::uint32_t high_bit(std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  return static_cast<std::uint32_t>(31 - __clz(static_cast<int>(value)));
#else
  return static_cast<std::uint32_t>(31 - std::countl_zero(value));
#endif
}

/// Position of the lowest bit that is set; `value` is not 0.
PENSTOCK_HD std::uint32_t low_bit(std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  return static_cast<std::uint32_t>(__ffs(static_cast<int>(value)) - 1);
#else
  return static_cast<std::uint32_t>(std::countr_zero(value));
#endif
}

/// How far an address is above the last multiple of `alignment`, a power of two.
PENSTOCK_HD std::uint32_t misalignment(const void* at, std::uint32_t alignment) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(at)) & (alignment - 1);
}

/// Tells the CUDA compiler that `at` is not in shared memory: stores there then do not order with loads of tables.
template <class T>
PENSTOCK_HD T* assume_global(T* at) {
#if defined(__CUDA_ARCH__)
  __builtin_assume(__isGlobal(at));
#endif
  return at;
}

/// Adds and returns what was there before.  Allowed inside a region of a Team, where nothing may hang on the order.
template <class T>
PENSTOCK_HD T atomic_add(T* at, std::type_identity_t<T> add) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(T) == 8)
    return atomicAdd(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long long>(add));
  else
    return atomicAdd(at, add);
#else
  return std::atomic_ref<T>(*at).fetch_add(add, std::memory_order_relaxed);
#endif
}

/// The bits in reverse order.
PENSTOCK_HD std::uint32_t reverse_bits(std::uint32_t word) {
#if defined(__CUDA_ARCH__)
  return __brev(word);
#else
  std::uint32_t reversed = 0;
  for (int i = 0; i < 32; ++i) reversed |= (word >> i & 1) << (31 - i);
  return reversed;
#endif
}

/// How many bits are set.
PENSTOCK_HD std::uint32_t count_bits(std::uint32_t word) {
#if defined(__CUDA_ARCH__)
  return static_cast<std::uint32_t>(__popc(word));
#else
  return static_cast<std::uint32_t>(std::popcount(word));
#endif
}

/// Changes a word that other indices of the same region change as well; what they make of it does not depend on the
/// order.
template <class T>
PENSTOCK_HD void atomic_or(T* word, T bits) {
#if defined(__CUDA_ARCH__)
  atomicOr(word, bits);
#else
  *word |= bits;
#endif
}
template <class T>
PENSTOCK_HD void atomic_xor(T* word, T bits) {
#if defined(__CUDA_ARCH__)
  atomicXor(word, bits);
#else
  *word ^= bits;
#endif
}

PENSTOCK_HD void atomic_max(std::uint16_t* half, std::uint16_t value) {
#if defined(__CUDA_ARCH__)
  // Each turn that fails is another lane's success, which raises the value.
  unsigned short seen = *half;
  while (seen < value) {
    const unsigned short found = atomicCAS(half, seen, value);
    if (found == seen) break;
    seen = found;
  }
#else
  if (value > *half) *half = value;
#endif
}

PENSTOCK_HD void atomic_min(std::uint64_t* word, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  atomicMin(reinterpret_cast<unsigned long long*>(word), static_cast<unsigned long long>(value));
#else
  if (value < *word) *word = value;
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
