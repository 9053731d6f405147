// The least or the most of small boxes: what filters of up to 3 elements along up to three axes give one after another,
// in one pass over memory.
//
// The array is seen as (outer, three axes, inner); an axis between the filtered ones has a filter of one element.  As
// in kernel.hpp what stands at the ends comes from a table of each axis.
//
// Here: some outputs of one column, for devices.  The CPU has loops of its own (box_loops.hpp).
#pragma once
#include <cstdint>

#include "device/portable.hpp"
#include "ops/divide.hpp"
#include "ops/line/kernel.hpp"

namespace penstock::line {

inline constexpr std::uint32_t kMaxBoxTaps = 3;

template <class T>
struct BoxJob {
  const T* in = nullptr;
  T* out = nullptr;
  std::uint64_t outer = 1, inner = 1;
  std::uint64_t in_extent[3] = {1, 1, 1}, out_extent[3] = {1, 1, 1};
  std::uint32_t taps[3] = {1, 1, 1};
  const std::int32_t* table[3] = {};  ///< out_extent + taps - 1 rows of each axis; -1: the constant
  T constant = T(0);

  [[nodiscard]] PENSTOCK_HD std::uint64_t in_plane() const { return in_extent[1] * in_extent[2] * inner; }
  [[nodiscard]] PENSTOCK_HD std::uint64_t out_plane() const { return out_extent[1] * out_extent[2] * inner; }
};

template <bool kLeast, class T>
PENSTOCK_HD T better(T a, T b) {
  return kLeast ? smaller(a, b) : larger(a, b);
}

/// Some outputs along the first axis; what lies in the planes before is kept in registers.
template <class T, bool kLeast>
struct BoxColumn {
  static constexpr std::uint32_t kDepth = 16;
  BoxJob<T> job;

  [[nodiscard]] PENSTOCK_HD std::uint64_t chunks() const { return (job.out_extent[0] + kDepth - 1) / kDepth; }
  [[nodiscard]] std::uint64_t lanes() const { return job.outer * chunks() * job.out_plane(); }

  PENSTOCK_HD void operator()(std::uint64_t lane) const {
    std::uint64_t inner = lane, x = divide(inner, job.inner), y = divide(x, job.out_extent[2]);
    std::uint64_t chunk = divide(y, job.out_extent[1]);
    const std::uint64_t outer = divide(chunk, chunks()), first = chunk * kDepth;
    std::int32_t at[kMaxBoxTaps * kMaxBoxTaps];  // in a plane; an element too many counts twice, which changes nothing
    PENSTOCK_UNROLL
    for (std::uint32_t i = 0; i < kMaxBoxTaps; ++i) {
      const std::int32_t row = job.table[1][y + (i < job.taps[1] ? i : 0)];
      PENSTOCK_UNROLL
      for (std::uint32_t k = 0; k < kMaxBoxTaps; ++k) {
        const std::int32_t column = job.table[2][x + (k < job.taps[2] ? k : 0)];
        const auto width = static_cast<std::int32_t>(job.in_extent[2]), deep = static_cast<std::int32_t>(job.inner);
        at[i * kMaxBoxTaps + k] =
            row < 0 || column < 0 ? -1 : (row * width + column) * deep + static_cast<std::int32_t>(inner);
      }
    }
    const T* const in = job.in + outer * job.in_extent[0] * job.in_plane();
    T* out = job.out + (outer * job.out_extent[0] + first) * job.out_plane() + (y * job.out_extent[2] + x) * job.inner +
             inner;
    const std::uint64_t left = job.out_extent[0] - first, count = left < kDepth ? left : kDepth;
    const std::uint32_t taps = job.taps[0];
    T before = T(0), last = T(0);  // of the planes that went before
    for (std::uint32_t row = 0; row < count + taps - 1; ++row) {
      const T here = best_of(in, job.table[0][first + row], at);
      if (row + 1 >= taps) {
        T made = taps > 1 ? better<kLeast>(last, here) : here;
        if (taps > 2) made = better<kLeast>(before, made);
        *out = made;
        out += job.out_plane();
      }
      before = last, last = here;
    }
  }

 private:
  template <std::size_t kCount>
  PENSTOCK_HD T best_of(const T* in, std::int32_t row, const std::int32_t (&at)[kCount]) const {
    if (row < 0) return job.constant;
    const T* const plane = in + static_cast<std::uint64_t>(row) * job.in_plane();
    T values[kCount];
    PENSTOCK_UNROLL
    for (std::size_t i = 0; i < kCount; ++i) values[i] = at[i] < 0 ? job.constant : plane[at[i]];
    T best = values[0];
    PENSTOCK_UNROLL
    for (std::size_t i = 1; i < kCount; ++i) best = better<kLeast>(best, values[i]);
    return best;
  }
};

}  // namespace penstock::line
