#include "codec/shuffle/shuffle.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace penstock {
namespace {

/// The plain loops start at element `first`.  Blocks, so that the elements are read from the first cache `size` times.
void shuffle_plain(const std::byte* in, std::byte* out, std::size_t first, std::size_t n, std::size_t size) {
  constexpr std::size_t kBlock = 256;
  for (std::size_t b = first; b < n; b += kBlock) {
    const std::size_t end = std::min(n, b + kBlock);
    for (std::size_t j = 0; j < size; ++j)
      for (std::size_t i = b; i < end; ++i) out[j * n + i] = in[i * size + j];
  }
}

void unshuffle_plain(const std::byte* in, std::byte* out, std::size_t first, std::size_t n, std::size_t size) {
  for (std::size_t i = first; i < n; ++i)
    for (std::size_t j = 0; j < size; ++j) out[i * size + j] = in[j * n + i];
}

#ifdef __SSE2__
__m128i load(const std::byte* at) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)); }
void store(std::byte* at, __m128i x) { _mm_storeu_si128(reinterpret_cast<__m128i*>(at), x); }

/// 16 elements of Size bytes are a Size x 16 byte matrix in Size registers.  One round takes register pairs (a, b) and
/// interleaves them bytewise; log2(16) rounds of it with the pairs below turn elements into planes, log2(Size) rounds
/// turn planes into elements.
template <std::size_t Size>
void interleave(__m128i (&x)[Size]) {
  __m128i y[Size];
  for (std::size_t k = 0; k < Size / 2; ++k) {
    y[2 * k] = _mm_unpacklo_epi8(x[k], x[k + Size / 2]);
    y[2 * k + 1] = _mm_unpackhi_epi8(x[k], x[k + Size / 2]);
  }
  for (std::size_t k = 0; k < Size; ++k) x[k] = y[k];
}

template <std::size_t Size>
std::size_t shuffle_sse2(const std::byte* in, std::byte* out, std::size_t n) {
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    __m128i x[Size];
    for (std::size_t k = 0; k < Size; ++k) x[k] = load(in + i * Size + 16 * k);
    for (int round = 0; round < 4; ++round) interleave(x);
    for (std::size_t k = 0; k < Size; ++k) store(out + k * n + i, x[k]);
  }
  return i;
}

template <std::size_t Size>
std::size_t unshuffle_sse2(const std::byte* in, std::byte* out, std::size_t n) {
  constexpr int kRounds = std::countr_zero(Size);
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    __m128i x[Size];
    for (std::size_t k = 0; k < Size; ++k) x[k] = load(in + k * n + i);
    for (int round = 0; round < kRounds; ++round) interleave(x);
    for (std::size_t k = 0; k < Size; ++k) store(out + i * Size + 16 * k, x[k]);
  }
  return i;
}
#endif

}  // namespace

void shuffle_bytes(const std::byte* in, std::byte* out, std::size_t n, std::size_t size) {
  std::size_t done = 0;
#ifdef __SSE2__
  if (size == 2) done = shuffle_sse2<2>(in, out, n);
  if (size == 4) done = shuffle_sse2<4>(in, out, n);
  if (size == 8) done = shuffle_sse2<8>(in, out, n);
  if (size == 16) done = shuffle_sse2<16>(in, out, n);
#endif
  shuffle_plain(in, out, done, n, size);
}

bool shuffles_in_vectors([[maybe_unused]] std::size_t size) {
#ifdef __SSE2__
  return size == 2 || size == 4 || size == 8 || size == 16;
#else
  return false;
#endif
}

void unshuffle_bytes(const std::byte* in, std::byte* out, std::size_t n, std::size_t size) {
  std::size_t done = 0;
#ifdef __SSE2__
  if (size == 2) done = unshuffle_sse2<2>(in, out, n);
  if (size == 4) done = unshuffle_sse2<4>(in, out, n);
  if (size == 8) done = unshuffle_sse2<8>(in, out, n);
  if (size == 16) done = unshuffle_sse2<16>(in, out, n);
#endif
  unshuffle_plain(in, out, done, n, size);
}

}  // namespace penstock
