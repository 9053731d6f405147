// The rank-th smallest of the elements under a footprint.
//
// The array was extended at its ends before (line::make_extend), so a footprint is a list of distances in memory and
// nothing asks for borders.  Elements were turned into unsigned numbers of the same order (select/kernel.hpp), so there
// is one kernel for each size.
#pragma once
#include <cstdint>

#include "device/portable.hpp"
#include "penstock/region.hpp"

namespace penstock::window {

template <class K>
struct RankJob {
  const K* in = nullptr;  ///< the extended box
  K* out = nullptr;
  const std::int64_t* offsets = nullptr;  ///< elements from the first one under the footprint; `count` of them
  std::uint32_t count = 1;
  std::uint32_t rank = 0;  ///< 0: the smallest
  // Both boxes, without the last dimension: rows.
  std::uint32_t dimensions = 0;
  std::uint64_t extent[kMaxRank] = {};
  std::uint64_t stride[kMaxRank] = {};  ///< elements of `in`
  std::uint64_t rows = 1, width = 1;    ///< of the output

  /// Where row number `row` of the output begins in the input.
  PENSTOCK_HD std::uint64_t start(std::uint64_t row) const {
    std::uint64_t at = 0;
    for (std::uint32_t d = dimensions; d-- > 0;) {
      at += row % extent[d] * stride[d];
      row /= extent[d];
    }
    return at;
  }
};

template <class K>
PENSTOCK_HD void exchange(K& a, K& b) {
  const K less = b < a ? b : a;
  b = b < a ? a : b;
  a = less;
}

/// Of `from`, the rank-th smallest, bit by bit: how many are smaller says whether a bit is set.
template <class K, class Load>
PENSTOCK_HD K rank_by_bits(std::uint32_t count, std::uint32_t rank, const Load& load) {
  K found = 0;
  for (std::uint32_t bit = 8 * sizeof(K); bit-- > 0;) {
    const K trial = static_cast<K>(found | static_cast<K>(K{1} << bit));
    std::uint32_t smaller = 0;
    for (std::uint32_t i = 0; i < count; ++i) smaller += load(i) < trial ? 1 : 0;
    if (smaller <= rank) found = trial;
  }
  return found;
}

/// Drops the smallest and the largest of M in registers, takes one more, until the middle one is left.
template <int M, int kCount, class K, class Load>
PENSTOCK_HD K forget(K (&held)[kCount / 2 + 2], const Load& load) {
  PENSTOCK_UNROLL
  for (int i = 0; i < M / 2; ++i) exchange(held[i], held[M - 1 - i]);  // the smaller ones to the front
  PENSTOCK_UNROLL
  for (int i = 1; i < (M + 1) / 2; ++i) exchange(held[0], held[i]);
  PENSTOCK_UNROLL
  for (int i = M / 2; i < M - 1; ++i) exchange(held[i], held[M - 1]);
  if constexpr (M == 3) {
    return held[1];
  } else {
    held[0] = load(kCount - M + 3);  // in place of the smallest; the largest is not looked at again
    return forget<M - 1, kCount>(held, load);
  }
}
/// The median of an odd number of elements.
template <int kCount, class K, class Load>
PENSTOCK_HD K median(const Load& load) {
  K held[kCount / 2 + 2];
  PENSTOCK_UNROLL
  for (int i = 0; i < kCount / 2 + 2; ++i) held[i] = load(i);
  return forget<kCount / 2 + 2, kCount>(held, load);
}

/// One output; kMedian: of how many elements it is the median, 0: any rank of any number.
template <class K, int kMedian>
struct RankElement {
  RankJob<K> job;

  PENSTOCK_HD void operator()(std::uint64_t i) const {
    const K* const at = job.in + job.start(i / job.width) + i % job.width;
    const auto load = [&](std::uint32_t k) { return at[job.offsets[k]]; };
    if constexpr (kMedian > 0) {
      job.out[i] = median<kMedian, K>(load);
    } else if (job.rank == 0 || job.rank + 1 == job.count) {
      K best = load(0);
      for (std::uint32_t k = 1; k < job.count; ++k) {
        const K v = load(k);
        best = (job.rank == 0 ? v < best : v > best) ? v : best;
      }
      job.out[i] = best;
    } else {
      job.out[i] = rank_by_bits<K>(job.count, job.rank, load);
    }
  }
};

}  // namespace penstock::window
