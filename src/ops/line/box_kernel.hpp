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
#include "ops/load.hpp"

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

/// Some outputs along the first axis, of kRows neighbouring rows of the second one: what lies in the planes before is
/// kept in registers, and so is the best of each row's columns, of which neighbouring rows are made.
template <class T, bool kLeast, std::uint32_t kRows = 2, std::uint32_t kPlanes = 16>
struct BoxColumn {
  static constexpr std::uint32_t kDepth = kPlanes, kHeld = kRows + kMaxBoxTaps - 1;
  BoxJob<T> job;

  [[nodiscard]] PENSTOCK_HD std::uint64_t chunks() const { return (job.out_extent[0] + kDepth - 1) / kDepth; }
  [[nodiscard]] PENSTOCK_HD std::uint64_t strips() const { return (job.out_extent[1] + kRows - 1) / kRows; }
  [[nodiscard]] std::uint64_t lanes() const { return job.outer * chunks() * strips() * job.out_extent[2] * job.inner; }

  PENSTOCK_HD void operator()(std::uint64_t lane) const {
    std::uint64_t inner = lane, x = divide(inner, job.inner), strip = divide(x, job.out_extent[2]);
    std::uint64_t chunk = divide(strip, strips());
    const std::uint64_t outer = divide(chunk, chunks()), first = chunk * kDepth, y = strip * kRows;
    // An element too many counts twice, which changes nothing.
    std::int32_t row[kHeld], column[kMaxBoxTaps];
    const std::uint64_t last_row = job.out_extent[1] + job.taps[1] - 2;
    PENSTOCK_UNROLL
    for (std::uint32_t i = 0; i < kHeld; ++i) row[i] = job.table[1][y + i < last_row ? y + i : last_row];
    PENSTOCK_UNROLL
    for (std::uint32_t k = 0; k < kMaxBoxTaps; ++k) column[k] = job.table[2][x + (k < job.taps[2] ? k : 0)];
    bool inside = true;  // none is the constant
    std::int32_t at[kHeld * kMaxBoxTaps];
    PENSTOCK_UNROLL
    for (std::uint32_t i = 0; i < kHeld; ++i) {
      PENSTOCK_UNROLL
      for (std::uint32_t k = 0; k < kMaxBoxTaps; ++k) {
        const bool there = row[i] >= 0 && column[k] >= 0;
        const auto width = static_cast<std::int32_t>(job.in_extent[2]), deep = static_cast<std::int32_t>(job.inner);
        inside = inside && there;
        at[i * kMaxBoxTaps + k] = there ? (row[i] * width + column[k]) * deep + static_cast<std::int32_t>(inner) : -1;
      }
    }
    const T* const in = job.in + outer * job.in_extent[0] * job.in_plane();
    const std::uint64_t below = job.out_extent[2] * job.inner;  // from an output to that of the next row
    T* out = job.out + (outer * job.out_extent[0] + first) * job.out_plane() + y * below + x * job.inner + inner;
    const std::uint64_t left = job.out_extent[0] - first, rows = job.out_extent[1] - y;
    const auto count = static_cast<std::uint32_t>(left < kDepth ? left : kDepth);
    const auto made = static_cast<std::uint32_t>(rows < kRows ? rows : kRows);
    T before[kRows] = {}, last[kRows] = {};  // of the planes that went before
    for (std::uint32_t plane = 0; plane < count + job.taps[0] - 1; ++plane) {
      T here[kRows];
      best_of(in, job.table[0][first + plane], at, inside, here);
      if (plane + 1 >= job.taps[0]) {
        PENSTOCK_UNROLL
        for (std::uint32_t r = 0; r < kRows; ++r) {
          T best = job.taps[0] > 1 ? better<kLeast>(last[r], here[r]) : here[r];
          if (job.taps[0] > 2) best = better<kLeast>(before[r], best);
          if (r < made) out[r * below] = best;
        }
        out += job.out_plane();
      }
      PENSTOCK_UNROLL
      for (std::uint32_t r = 0; r < kRows; ++r) before[r] = last[r], last[r] = here[r];
    }
  }

 private:
  /// Of a plane, for each of the rows.
  template <std::size_t kCount>
  PENSTOCK_HD void best_of(const T* in, std::int32_t number, const std::int32_t (&at)[kCount], bool inside,
                           T (&best)[kRows]) const {
    T values[kCount];
    if (number < 0) {
      PENSTOCK_UNROLL
      for (T& value : best) value = job.constant;
      return;
    }
    const T* const plane = in + static_cast<std::uint64_t>(number) * job.in_plane();
    if (inside) {
      PENSTOCK_UNROLL
      for (std::size_t i = 0; i < kCount; ++i) values[i] = load_unchanging(plane + at[i]);
    } else {
      PENSTOCK_UNROLL
      for (std::size_t i = 0; i < kCount; ++i) values[i] = at[i] < 0 ? job.constant : load_unchanging(plane + at[i]);
    }
    T row[kHeld];
    PENSTOCK_UNROLL
    for (std::uint32_t i = 0; i < kHeld; ++i)
      row[i] = better<kLeast>(better<kLeast>(values[i * kMaxBoxTaps], values[i * kMaxBoxTaps + 1]),
                              values[i * kMaxBoxTaps + 2]);
    PENSTOCK_UNROLL
    for (std::uint32_t r = 0; r < kRows; ++r) {
      best[r] = row[r];
      if (job.taps[1] > 1) best[r] = better<kLeast>(best[r], row[r + 1]);
      if (job.taps[1] > 2) best[r] = better<kLeast>(best[r], row[r + 2]);
    }
  }
};

}  // namespace penstock::line
