// The rank-th smallest of the elements under a footprint.
//
// The array was extended at its ends before (line::make_extend), so a footprint is a list of distances in memory and
// nothing asks for borders.  Elements were turned into unsigned numbers of the same order (select/kernel.hpp), so there
// is one kernel for each size.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>

#include "device/portable.hpp"
#include "ops/divide.hpp"
#include "penstock/region.hpp"

namespace penstock::window {

template <class K>
struct RankJob {
  const K* in = nullptr;  ///< the extended box
  K* out = nullptr;
  static constexpr std::uint32_t kFew = 27;
  const std::int64_t* offsets = nullptr;  ///< elements from the first one under the footprint; `count` of them
  std::int64_t few[kFew] = {};            ///< the same, of no more than so many: a device gets them with the launch
  std::uint32_t count = 1;
  std::uint32_t rank = 0;  ///< 0: the smallest
  bool in_threes = false;  ///< every third offset and the two after it are of neighbours in a row
  // Both boxes, without the last dimension: rows.
  std::uint32_t dimensions = 0;
  std::uint64_t extent[kMaxRank] = {};
  std::uint64_t stride[kMaxRank] = {};  ///< elements of `in`
  std::uint64_t rows = 1, width = 1;    ///< of the output

  /// `footprint` outlives the job.
  void set_offsets(std::span<const std::int64_t> footprint) {
    offsets = footprint.data();
    count = static_cast<std::uint32_t>(footprint.size());
    if (count <= kFew) std::ranges::copy(footprint, few);
  }
  /// Where row number `row` of the output begins in the input.
  PENSTOCK_HD std::uint64_t start(std::uint64_t row) const {
    std::uint64_t at = 0;
    for (std::uint32_t d = dimensions; d-- > 0;) {
      std::uint64_t k = row;
      row = divide(k, extent[d]);
      at += k * stride[d];
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

template <class K>
PENSTOCK_HD K lesser(K a, K b) {
  return b < a ? b : a;
}
template <class K>
PENSTOCK_HD K greater(K a, K b) {
  return b < a ? a : b;
}

/// Nine in order, by 25 exchanges: threes, then what two threes give to the third.
template <class K>
PENSTOCK_HD void sort_nine(K (&v)[9]) {
  constexpr std::uint8_t kPairs[25][2] = {{0, 3}, {1, 7}, {2, 5}, {4, 8}, {0, 7}, {2, 4}, {3, 8}, {5, 6}, {0, 2},
                                          {1, 3}, {4, 5}, {7, 8}, {1, 4}, {3, 6}, {5, 7}, {0, 1}, {2, 4}, {3, 5},
                                          {6, 8}, {2, 3}, {4, 5}, {6, 7}, {1, 2}, {3, 4}, {5, 6}};
  PENSTOCK_UNROLL
  for (int i = 0; i < 25; ++i) exchange(v[kPairs[i][0]], v[kPairs[i][1]]);
}

/// The median of three columns of nine, each in order.  The threes at the same place of the columns are put in order
/// too; then 7 elements are known to be below the median and 7 above it, and the middle one of the other 13 is found
/// from a list of 8 and one of 5.
template <class K>
PENSTOCK_HD K median_of_columns(const K (&a)[9], const K (&b)[9], const K (&c)[9]) {
  K high[4], middle[5], low[4];  // of places 0 to 3, 2 to 6, 5 to 8
  PENSTOCK_UNROLL
  for (int i = 0; i < 9; ++i) {
    const K less = lesser(a[i], b[i]), more = greater(a[i], b[i]);
    if (i < 4) high[i] = greater(more, c[i]);
    if (i >= 2 && i < 7) middle[i - 2] = greater(less, lesser(more, c[i]));
    if (i >= 5) low[i - 5] = lesser(less, c[i]);
  }
  K v[8];  // both fours in order, by an odd-even merge
  PENSTOCK_UNROLL
  for (int i = 0; i < 4; ++i) v[i] = high[i], v[4 + i] = low[i];
  PENSTOCK_UNROLL
  for (int i = 0; i < 4; ++i) exchange(v[i], v[4 + i]);
  exchange(v[2], v[4]), exchange(v[3], v[5]);
  exchange(v[1], v[2]), exchange(v[3], v[4]), exchange(v[5], v[6]);
  K found = v[6];  // the seventh of both lists: of i from the middle one and 7 - i from the other
  PENSTOCK_UNROLL
  for (int i = 0; i < 5; ++i) found = lesser(found, greater(middle[i], v[5 - i]));
  return found;
}

/// The median of 3 x 3 x 3, or of any 9 threes: some neighbouring outputs, which share the columns.
template <class K>
struct MedianOfThrees {
  static constexpr std::uint32_t kOutputs = 4;
  RankJob<K> job;

  [[nodiscard]] PENSTOCK_HD std::uint64_t groups() const { return (job.width + kOutputs - 1) / kOutputs; }
  PENSTOCK_HD void operator()(std::uint64_t i) const {
    // Numbers of at least 32 bits: those have instructions for the smaller and the larger of two.
    using Wide = std::conditional_t<sizeof(K) < 4, std::uint32_t, K>;
    std::uint64_t x = i;
    const std::uint64_t row = divide(x, groups());
    x *= kOutputs;
    const K* const at = job.in + job.start(row) + x;
    const auto left = static_cast<std::uint32_t>(job.width - x);  // outputs
    Wide column[kOutputs + 2][9];
    PENSTOCK_UNROLL
    for (int k = 0; k < 9; ++k) {
      const K* const line = at + job.few[3 * k];
      PENSTOCK_UNROLL
      for (std::uint32_t c = 0; c < kOutputs + 2; ++c) column[c][k] = line[c < left + 2 ? c : left + 1];
    }
    PENSTOCK_UNROLL
    for (std::uint32_t c = 0; c < kOutputs + 2; ++c) sort_nine(column[c]);
    K* const to = job.out + row * job.width + x;
    PENSTOCK_UNROLL
    for (std::uint32_t c = 0; c < kOutputs; ++c)
      if (c < left) to[c] = static_cast<K>(median_of_columns(column[c], column[c + 1], column[c + 2]));
  }
};

/// One output; kMedian: of how many elements it is the median, 0: any rank of any number.
template <class K, int kMedian>
struct RankElement {
  RankJob<K> job;

  PENSTOCK_HD void operator()(std::uint64_t i) const {
    std::uint64_t x = i;
    const std::uint64_t row = divide(x, job.width);
    const K* const at = job.in + job.start(row) + x;
    if constexpr (kMedian > 0) {
      static_assert(kMedian <= RankJob<K>::kFew);
      job.out[i] = median<kMedian, K>([&](std::uint32_t k) { return at[job.few[k]]; });
    } else {
      const std::int64_t* const offsets = job.count <= RankJob<K>::kFew ? job.few : job.offsets;
      job.out[i] = any_rank([&](std::uint32_t k) { return at[offsets[k]]; });
    }
  }

 private:
  template <class Load>
  PENSTOCK_HD K any_rank(const Load& load) const {
    if (job.rank > 0 && job.rank + 1 < job.count) return rank_by_bits<K>(job.count, job.rank, load);
    K best = load(0);
    for (std::uint32_t k = 1; k < job.count; ++k) {
      const K v = load(k);
      best = (job.rank == 0 ? v < best : v > best) ? v : best;
    }
    return best;
  }
};

}  // namespace penstock::window
