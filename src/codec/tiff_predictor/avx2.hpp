// Predictors undone thirty-two bytes at a time, where the processor has AVX2.
#pragma once
#include <cstddef>
#include <cstdint>

namespace penstock::tiff {

/// Sums along a row of items of one sample a pixel: as many items as make whole vectors.  Returns how many; `sum`: of
/// those.  0 without AVX2.  `to` may be `from`.  T: std::uint8_t, std::uint16_t, std::uint32_t.
template <class T>
std::uint64_t sum_items_avx2(const std::byte* from, std::byte* to, std::uint64_t items, T& sum);

/// Items of four bytes that lie apart, `items` bytes from one to the next, the highest first: as many items as make
/// whole vectors.  Returns how many; 0 without AVX2.
std::uint64_t join_four_avx2(const std::byte* row, std::uint64_t items, std::byte* to);

}  // namespace penstock::tiff
