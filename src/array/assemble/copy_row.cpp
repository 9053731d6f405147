#include "array/assemble/copy_row.hpp"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace penstock::place {
namespace {

void copy_plain(std::byte* target, const std::byte* source, std::size_t bytes, std::size_t unit) {
  if (unit == 1) {
    if (bytes > 0) std::memcpy(target, source, bytes);
    return;
  }
  for (std::size_t i = 0; i < bytes; ++i) target[i] = source[i ^ (unit - 1)];
}

#if defined(__x86_64__)
constexpr std::size_t kLine = 64;

/// Whole vectors of 32 and 16 bytes; within 16 bytes, byte i comes from byte i ^ (unit - 1).  Returns the bytes done.
template <bool kStreaming>
__attribute__((target("avx2"))) std::size_t copy_avx2(std::byte* target, const std::byte* source, std::size_t bytes,
                                                      std::size_t unit) {
  const __m256i index = _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7,
                                         8, 9, 10, 11, 12, 13, 14, 15);
  const __m256i mask = _mm256_xor_si256(index, _mm256_set1_epi8(static_cast<char>(unit - 1)));
  std::size_t i = 0;
  for (; i + 32 <= bytes; i += 32) {
    const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source + i));
    const __m256i swapped = _mm256_shuffle_epi8(v, mask);
    if constexpr (kStreaming)
      _mm256_stream_si256(reinterpret_cast<__m256i*>(target + i), swapped);
    else
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(target + i), swapped);
  }
  if (i + 16 <= bytes) {
    const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + i));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(target + i), _mm_shuffle_epi8(v, _mm256_castsi256_si128(mask)));
    i += 16;
  }
  return i;
}

void copy_cached(std::byte* target, const std::byte* source, std::size_t bytes, std::size_t unit) {
  const std::size_t done = unit > 1 ? copy_avx2<false>(target, source, bytes, unit) : 0;
  copy_plain(target + done, source + done, bytes - done, unit);
}

bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2");
  return has;
}

/// Whole cache lines are streamed; part of a line would cost more than a cached store.
bool stream_row(std::byte* target, const std::byte* source, std::size_t bytes, std::size_t unit) {
  const std::size_t head = (kLine - reinterpret_cast<std::uintptr_t>(target) % kLine) % kLine;
  if (head % unit != 0 || bytes < head + kLine) return false;
  const std::size_t body = (bytes - head) / kLine * kLine;
  copy_cached(target, source, head, unit);
  copy_avx2<true>(target + head, source + head, body, unit);
  copy_cached(target + head + body, source + head + body, bytes - head - body, unit);
  return true;
}
#endif

}  // namespace

void copy_row(std::byte* target, const std::byte* source, std::size_t bytes, std::size_t unit,
              [[maybe_unused]] Store store) {
#if defined(__x86_64__)
  if (has_avx2()) {
    if (store == Store::streaming && stream_row(target, source, bytes, unit)) return;
    return copy_cached(target, source, bytes, unit);
  }
#endif
  copy_plain(target, source, bytes, unit);
}

void finish_stores() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace penstock::place
