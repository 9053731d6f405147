// Placement as a tier-1 function: index i moves one vector of bytes.  Written once; the CPU runs it in tests only.
#pragma once
#include <cstdint>

#include "device/portable.hpp"

namespace penstock::place {

/// Loops that a job of the kernel can have.
inline constexpr std::uint32_t kKernelLoops = 7;
/// Jobs of one launch; the whole batch is a kernel parameter (at most 32,764 bytes).
inline constexpr std::uint32_t kBatchJobs = 128;

struct Loop {
  std::uint64_t count;
  std::int64_t source_stride;  ///< bytes
  std::int64_t target_stride;
};

/// `count` vectors over `rank` loops, the last the fastest.  Addresses and strides are multiples of the vector.
struct KernelJob {
  const std::uint8_t* source;  ///< nullptr: `fill`, repeated
  std::uint8_t* target;
  std::uint64_t count;
  std::uint32_t rank;
  std::uint32_t swap_bytes;  ///< units that are reversed; 1: none
  Loop loops[kKernelLoops];
  Bytes16 fill;
};

struct alignas(8) Bytes8 {
  std::uint32_t word[2];
};

PENSTOCK_HD std::uint8_t swap_units(std::uint8_t v, std::uint32_t) { return v; }
PENSTOCK_HD std::uint16_t swap_units(std::uint16_t v, std::uint32_t) {
  return static_cast<std::uint16_t>(v << 8 | v >> 8);
}
PENSTOCK_HD std::uint32_t swap_units(std::uint32_t v, std::uint32_t unit) {
  v = (v & 0x00FF00FFu) << 8 | (v >> 8 & 0x00FF00FFu);
  return unit == 2 ? v : v << 16 | v >> 16;
}
PENSTOCK_HD Bytes8 swap_units(Bytes8 v, std::uint32_t unit) {
  const std::uint32_t a = swap_units(v.word[0], unit), b = swap_units(v.word[1], unit);
  return unit == 8 ? Bytes8{{b, a}} : Bytes8{{a, b}};
}
PENSTOCK_HD Bytes16 swap_units(Bytes16 v, std::uint32_t unit) {
  const std::uint32_t a = swap_units(v.word[0], unit), b = swap_units(v.word[1], unit);
  const std::uint32_t c = swap_units(v.word[2], unit), d = swap_units(v.word[3], unit);
  if (unit == 16) return {{d, c, b, a}};
  return unit == 8 ? Bytes16{{b, a, d, c}} : Bytes16{{a, b, c, d}};
}

/// Byte distances of vector `i` of a job.  Index is 32 bits wide where it can be: a division costs a quarter.
template <class Index>
PENSTOCK_HD void locate(const KernelJob& job, Index i, std::int64_t& from, std::int64_t& to) {
  for (std::uint32_t d = job.rank; d-- > 1;) {
    const Loop& loop = job.loops[d];
    const Index next = i / static_cast<Index>(loop.count);
    const auto at = static_cast<std::int64_t>(i - next * static_cast<Index>(loop.count));
    from += at * loop.source_stride;
    to += at * loop.target_stride;
    i = next;
  }
  if (job.rank > 0) {
    from += static_cast<std::int64_t>(i) * job.loops[0].source_stride;
    to += static_cast<std::int64_t>(i) * job.loops[0].target_stride;
  }
}

/// Jobs that move vectors of type V, run as one range of indices.
template <class V>
struct Batch {
  std::uint32_t jobs = 0;
  std::uint64_t first[kBatchJobs];  ///< index of the first vector of each job
  KernelJob job[kBatchJobs];

  PENSTOCK_HD void operator()(std::uint64_t i) const {
    std::uint32_t low = 0, high = jobs;  // the last job that starts at or before i
    while (high - low > 1) {
      const std::uint32_t middle = (low + high) / 2;
      if (first[middle] <= i)
        low = middle;
      else
        high = middle;
    }
    const KernelJob& mine = job[low];
    std::int64_t from = 0, to = 0;
    if (mine.count >> 32 == 0)
      locate(mine, static_cast<std::uint32_t>(i - first[low]), from, to);
    else
      locate(mine, i - first[low], from, to);
    V value;
    if (mine.source != nullptr)
      value = load_aligned<V>(mine.source + from);
    else
      value = load_aligned<V>(&mine.fill);
    if (mine.swap_bytes > 1) value = swap_units(value, mine.swap_bytes);
    store_aligned(mine.target + to, value);
  }
};
static_assert(sizeof(Batch<std::uint8_t>) <= 32764 - 64);

}  // namespace penstock::place
