// The coefficients of a spline through the elements of a line: a recursion forwards and one backwards for each pole.
//
// How a line goes on beyond its ends is in the weights that both begin with (made on the host, spline.cpp): the
// recursions themselves know nothing of it.  Theory: M. Unser, "Splines: a perfect fit", IEEE Signal Processing
// Magazine 16 (1999).
#pragma once
#include <cstdint>

#include "device/portable.hpp"
#include "ops/line/kernel.hpp"

namespace penstock::line {

inline constexpr std::uint32_t kMaxPoles = 2;

/// One element that a recursion begins with.
template <class C>
struct Start {
  std::uint32_t row = 0;
  C weight = C(0);
};

template <class C>
struct SplineJob {
  Shape3 shape;  ///< in == out
  const C* in = nullptr;
  C* out = nullptr;
  C gain = C(1);
  std::uint32_t poles = 0;
  C pole[kMaxPoles] = {};
  const Start<C>* starts = nullptr;        ///< of the first pole forwards, backwards, then of the second
  std::uint32_t forwards[kMaxPoles] = {};  ///< how many of them
  std::uint32_t backwards[kMaxPoles] = {};
};

/// One line by itself, where it lies.
template <class C>
struct SplineLine {
  SplineJob<C> job;

  PENSTOCK_HD void operator()(std::uint64_t line) const {
    const std::uint64_t n = job.shape.in, inner = job.shape.inner;
    const std::uint64_t first = line / inner * n * inner + line % inner;
    const C* const in = job.in + first;
    C* const out = job.out + first;
    const Start<C>* starts = job.starts;
    const C* from = in;  // the first recursion reads the elements, the others what the one before them has made
    C gain = job.gain;
    for (std::uint32_t p = 0; p < job.poles; ++p) {
      const C z = job.pole[p];
      C held = gain * sum(from, inner, starts, job.forwards[p]);
      starts += job.forwards[p];
      out[0] = held;
      for (std::uint64_t k = 1; k < n; k += kAhead) {
        C values[kAhead] = {};
        PENSTOCK_UNROLL
        for (std::uint64_t i = 0; i < kAhead; ++i)
          if (k + i < n) values[i] = from[(k + i) * inner];
        PENSTOCK_UNROLL
        for (std::uint64_t i = 0; i < kAhead; ++i)
          if (k + i < n) out[(k + i) * inner] = held = gain * values[i] + z * held;
      }
      from = out, gain = C(1);
      held = sum(out, inner, starts, job.backwards[p]);
      starts += job.backwards[p];
      out[(n - 1) * inner] = held;
      for (std::uint64_t left = n - 1; left > 0; left -= left < kAhead ? left : kAhead) {
        C values[kAhead] = {};
        PENSTOCK_UNROLL
        for (std::uint64_t i = 0; i < kAhead; ++i)
          if (i < left) values[i] = out[(left - 1 - i) * inner];
        PENSTOCK_UNROLL
        for (std::uint64_t i = 0; i < kAhead; ++i)
          if (i < left) out[(left - 1 - i) * inner] = held = z * (held - values[i]);
      }
    }
  }

 private:
  /// Loads that are under way at once.
  static constexpr std::uint64_t kAhead = 8;
  PENSTOCK_HD static C sum(const C* rows, std::uint64_t inner, const Start<C>* starts, std::uint32_t count) {
    C made = 0;
    for (std::uint32_t i = 0; i < count; ++i) made += starts[i].weight * rows[starts[i].row * inner];
    return made;
  }
};

}  // namespace penstock::line
