#include "array/assemble/transpose.hpp"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace penstock::place {

#if defined(__x86_64__)
namespace {

constexpr std::size_t kVector = 16;  // SSE2, which every x86-64 has
constexpr std::size_t kLine = 64;

template <std::size_t kWord>
__m128i interleave_low(__m128i a, __m128i b) {
  if constexpr (kWord == 1) return _mm_unpacklo_epi8(a, b);
  if constexpr (kWord == 2) return _mm_unpacklo_epi16(a, b);
  if constexpr (kWord == 4) return _mm_unpacklo_epi32(a, b);
  if constexpr (kWord == 8) return _mm_unpacklo_epi64(a, b);
}

template <std::size_t kWord>
__m128i interleave_high(__m128i a, __m128i b) {
  if constexpr (kWord == 1) return _mm_unpackhi_epi8(a, b);
  if constexpr (kWord == 2) return _mm_unpackhi_epi16(a, b);
  if constexpr (kWord == 4) return _mm_unpackhi_epi32(a, b);
  if constexpr (kWord == 8) return _mm_unpackhi_epi64(a, b);
}

/// A round interleaves the first half of the vectors with the second, which rotates the bits of (vector, word) by one;
/// after log2(words) rounds the two have changed places.  The rounds are told at compile time: all stays in registers.
template <std::size_t kWord, std::size_t kRounds>
inline void interleave(__m128i* rows) {
  constexpr std::size_t kSide = kVector / kWord;
  if constexpr (kRounds > 1) {
    __m128i next[kSide];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kSide / 2; ++i) {
      next[2 * i] = interleave_low<kWord>(rows[i], rows[i + kSide / 2]);
      next[2 * i + 1] = interleave_high<kWord>(rows[i], rows[i + kSide / 2]);
    }
    interleave<kWord, kRounds / 2>(next);
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kSide; ++i) rows[i] = next[i];
  }
}

template <std::size_t kWord>
inline void transpose_one(std::byte* target, const std::byte* source, std::int64_t target_stride,
                          std::int64_t source_stride) {
  constexpr std::size_t kSide = kVector / kWord;
  __m128i rows[kSide];
#pragma GCC unroll 16
  for (std::size_t i = 0; i < kSide; ++i)
    rows[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + static_cast<std::int64_t>(i) * source_stride));
  interleave<kWord, kSide>(rows);
#pragma GCC unroll 16
  for (std::size_t i = 0; i < kSide; ++i)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(target + static_cast<std::int64_t>(i) * target_stride), rows[i]);
}

/// A cache line of the source across at a time, so that it is loaded once, into a tile that stays in the cache; the
/// tile's rows then go to the target as whole cache lines.
template <std::size_t kWord>
void transpose_plane(const TransposedPlane& p, std::size_t unit, Store store) {
  constexpr std::uint64_t kSide = kVector / kWord, kRows = kLine / kWord, kColumns = 256;
  constexpr std::size_t kRowBytes = kColumns * kWord + kLine;  // one line more: rows start in different cache sets
  alignas(kLine) std::byte tile[kRows * kRowBytes];
  for (std::uint64_t b = 0; b < p.along; b += kColumns)
    for (std::uint64_t a = 0; a < p.across; a += kRows) {
      const std::uint64_t columns = std::min(kColumns, p.along - b), rows = std::min(kRows, p.across - a);
      for (std::uint64_t j = 0; j < columns; j += kSide) {
        const std::byte* source = p.source + static_cast<std::int64_t>(b + j) * p.source_stride + a * kWord;
        for (std::uint64_t i = 0; i < rows; i += kSide)
          transpose_one<kWord>(tile + i * kRowBytes + j * kWord, source + i * kWord, kRowBytes, p.source_stride);
      }
      std::byte* target = p.target + b * kWord + static_cast<std::int64_t>(a) * p.target_stride;
      for (std::uint64_t i = 0; i < rows; ++i, target += p.target_stride)
        copy_row(target, tile + i * kRowBytes, columns * kWord, unit, store);
    }
}

}  // namespace

std::uint64_t transpose_block(std::size_t word_bytes) { return word_bytes <= 8 ? kVector / word_bytes : 0; }

void transpose(const TransposedPlane& plane, std::size_t word_bytes, std::size_t unit, Store store) {
  switch (word_bytes) {
    case 1: return transpose_plane<1>(plane, unit, store);
    case 2: return transpose_plane<2>(plane, unit, store);
    case 4: return transpose_plane<4>(plane, unit, store);
    default: return transpose_plane<8>(plane, unit, store);
  }
}
#else
std::uint64_t transpose_block(std::size_t) { return 0; }
void transpose(const TransposedPlane&, std::size_t, std::size_t, Store) {}
#endif

}  // namespace penstock::place
