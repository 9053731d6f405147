#include "codec/tiff_predictor/avx2.hpp"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace penstock::tiff {

#if defined(__x86_64__)
namespace {

#define PENSTOCK_AVX2 __attribute__((target("avx2"), always_inline)) inline

bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2");
  return has;
}

template <class T>
PENSTOCK_AVX2 __m256i add(__m256i a, __m256i b) {
  if constexpr (sizeof(T) == 1) return _mm256_add_epi8(a, b);
  if constexpr (sizeof(T) == 2) return _mm256_add_epi16(a, b);
  if constexpr (sizeof(T) == 4) return _mm256_add_epi32(a, b);
}
/// Every item and those before it in its half, as a sum.
template <class T>
PENSTOCK_AVX2 __m256i sum_halves(__m256i v) {
  if constexpr (sizeof(T) <= 1) v = add<T>(v, _mm256_slli_si256(v, 1));
  if constexpr (sizeof(T) <= 2) v = add<T>(v, _mm256_slli_si256(v, 2));
  if constexpr (sizeof(T) <= 4) v = add<T>(v, _mm256_slli_si256(v, 4));
  return add<T>(v, _mm256_slli_si256(v, 8));
}
/// The last item of each half, in all places of the half.
template <class T>
PENSTOCK_AVX2 __m256i repeat_last(__m256i v) {
  if constexpr (sizeof(T) == 1) return _mm256_shuffle_epi8(v, _mm256_set1_epi8(15));
  if constexpr (sizeof(T) == 2) return _mm256_shuffle_epi8(v, _mm256_set1_epi16(0x0F0E));
  if constexpr (sizeof(T) == 4) return _mm256_shuffle_epi32(v, 0xFF);
}

template <class T>
__attribute__((target("avx2"))) std::uint64_t sum_items(const std::byte* from, std::byte* to, std::uint64_t items,
                                                        T& sum) {
  constexpr std::uint64_t kItems = sizeof(__m256i) / sizeof(T);
  __m256i before = _mm256_setzero_si256();  // the sum so far, in every item
  std::uint64_t i = 0;
  for (; i + kItems <= items; i += kItems) {
    __m256i v = sum_halves<T>(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i * sizeof(T))));
    const __m256i last = repeat_last<T>(v);
    const __m256i low = _mm256_permute2x128_si256(last, last, 0x08);  // of the low half, in the high one
    v = add<T>(v, low);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i * sizeof(T)), add<T>(v, before));
    before = add<T>(before, _mm256_permute2x128_si256(add<T>(last, low), last, 0x11));
  }
  std::memcpy(&sum, &before, sizeof sum);
  return i;
}

__attribute__((target("avx2"))) std::uint64_t join_four(const std::byte* row, std::uint64_t items, std::byte* to) {
  const auto load = [&](std::uint64_t part, std::uint64_t at) __attribute__((target("avx2"))) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row + part * items + at));
  };
  std::uint64_t i = 0;
  for (; i + sizeof(__m256i) <= items; i += sizeof(__m256i)) {
    const __m256i a = load(3, i), b = load(2, i), c = load(1, i), d = load(0, i);  // the lowest first
    const __m256i low0 = _mm256_unpacklo_epi8(a, b), high0 = _mm256_unpacklo_epi8(c, d);
    const __m256i low1 = _mm256_unpackhi_epi8(a, b), high1 = _mm256_unpackhi_epi8(c, d);
    // Items 0 to 3, 4 to 7, 8 to 11, 12 to 15 of each half.
    const __m256i w0 = _mm256_unpacklo_epi16(low0, high0), w1 = _mm256_unpackhi_epi16(low0, high0);
    const __m256i w2 = _mm256_unpacklo_epi16(low1, high1), w3 = _mm256_unpackhi_epi16(low1, high1);
    auto* const out = reinterpret_cast<__m256i*>(to + 4 * i);
    _mm256_storeu_si256(out, _mm256_permute2x128_si256(w0, w1, 0x20));
    _mm256_storeu_si256(out + 1, _mm256_permute2x128_si256(w2, w3, 0x20));
    _mm256_storeu_si256(out + 2, _mm256_permute2x128_si256(w0, w1, 0x31));
    _mm256_storeu_si256(out + 3, _mm256_permute2x128_si256(w2, w3, 0x31));
  }
  return i;
}

#undef PENSTOCK_AVX2

}  // namespace

template <class T>
std::uint64_t sum_items_avx2(const std::byte* from, std::byte* to, std::uint64_t items, T& sum) {
  return has_avx2() ? sum_items<T>(from, to, items, sum) : 0;
}
std::uint64_t join_four_avx2(const std::byte* row, std::uint64_t items, std::byte* to) {
  return has_avx2() ? join_four(row, items, to) : 0;
}
#else
template <class T>
std::uint64_t sum_items_avx2(const std::byte* /*from*/, std::byte* /*to*/, std::uint64_t /*items*/, T& /*sum*/) {
  return 0;
}
std::uint64_t join_four_avx2(const std::byte* /*row*/, std::uint64_t /*items*/, std::byte* /*to*/) { return 0; }
#endif

template std::uint64_t sum_items_avx2(const std::byte*, std::byte*, std::uint64_t, std::uint8_t&);
template std::uint64_t sum_items_avx2(const std::byte*, std::byte*, std::uint64_t, std::uint16_t&);
template std::uint64_t sum_items_avx2(const std::byte*, std::byte*, std::uint64_t, std::uint32_t&);

}  // namespace penstock::tiff
