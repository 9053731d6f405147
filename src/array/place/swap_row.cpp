#include "array/place/swap_row.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace penstock {
namespace {

void swap_scalar(std::byte* target, const std::byte* source, std::size_t begin, std::size_t bytes, std::size_t unit) {
  for (std::size_t i = begin; i < bytes; ++i) target[i] = source[i ^ (unit - 1)];
}

#if defined(__x86_64__)
// 32 bytes a step; within 16 bytes, byte i comes from byte i ^ (unit - 1).
__attribute__((target("avx2"))) std::size_t swap_avx2(std::byte* target, const std::byte* source, std::size_t bytes,
                                                      std::size_t unit) {
  const __m256i index = _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7,
                                         8, 9, 10, 11, 12, 13, 14, 15);
  const __m256i mask = _mm256_xor_si256(index, _mm256_set1_epi8(static_cast<char>(unit - 1)));
  std::size_t i = 0;
  for (; i + 32 <= bytes; i += 32) {
    const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source + i));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(target + i), _mm256_shuffle_epi8(v, mask));
  }
  return i;
}
#endif

}  // namespace

void copy_swapped(std::byte* target, const std::byte* source, std::size_t bytes, std::size_t unit) {
  std::size_t done = 0;
#if defined(__x86_64__)
  static const bool has_avx2 = __builtin_cpu_supports("avx2");
  if (has_avx2) done = swap_avx2(target, source, bytes, unit);
#endif
  swap_scalar(target, source, done, bytes, unit);
}

}  // namespace penstock
