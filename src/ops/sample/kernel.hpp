// Values between elements, at coordinates: written once for every processor.
//
// Where a coordinate beyond the ends lies is scipy's (ndimage, "mode" of the interpolation functions): unlike filters,
// "constant" and "wrap" there know only the span from the first to the last element, the grid- forms whole elements.
#pragma once
#include <cmath>
#include <cstdint>

#include "device/portable.hpp"
#include "ops/element/kernel.hpp"
#include "penstock/region.hpp"

namespace penstock::sample {

enum class Mode : std::uint32_t {
  reflect,
  grid_mirror = reflect,
  mirror,
  nearest,
  constant,
  wrap,
  grid_wrap,
  grid_constant
};

inline constexpr std::uint32_t kMaxDimensions = 8;
inline constexpr int kMaxOrder = 5;

/// Where the coordinates come from.
enum class From : std::uint32_t {
  matrix,        ///< matrix times the output's indices, plus offset
  list,          ///< coordinates[d][i] of output i
  displacement,  ///< the output's indices plus coordinates[d][i]
};

/// T: elements; C: the type that values are weighted in.  Coordinates are double always: float32 does not tell
/// neighbours of a long axis apart well enough.
template <class T, class C>
struct SampleJob {
  const T* in = nullptr;  ///< a box of the array, which begins at `origin`
  T* out = nullptr;
  std::uint32_t dimensions = 0;              ///< of the input
  std::uint32_t out_dimensions = 0;          ///< of the output; list: 1
  std::uint64_t shape[kMaxDimensions] = {};  ///< of the whole input
  std::int64_t origin[kMaxDimensions] = {};
  std::uint64_t stride[kMaxDimensions] = {};  ///< elements of `in`
  std::uint64_t out_extent[kMaxDimensions] = {};
  std::int64_t out_origin[kMaxDimensions] = {};
  std::uint64_t outputs = 0;
  From from = From::matrix;
  double matrix[kMaxDimensions * kMaxDimensions] = {};  ///< rows of the input's dimensions
  double offset[kMaxDimensions] = {};
  double last[kMaxDimensions] = {};  ///< coordinates up to so far beyond the last element are that element
  const double* coordinates = nullptr;
  std::int32_t order = 1;  ///< 2 and more: `in` are spline coefficients
  Mode mode = Mode::constant;
  C constant = C(0);
};

/// The coordinate inside of an axis that stands for `x`; false: there is none.
PENSTOCK_HD bool inside(double& x, std::uint64_t extent, Mode mode, bool spline) {
  const auto n = static_cast<double>(extent);
  if (!(x == x) || x > 1e15 || x < -1e15) return false;  // NaN, and what no index can name
  if (spline && mode == Mode::nearest) return true;      // its coefficients go on, not its coordinates
  if (mode == Mode::grid_constant || (x >= 0 && x <= n - 1)) return true;
  const auto wrapped = [](double v, double length) { return v - length * std::floor(v / length); };
  switch (mode) {
    case Mode::nearest: x = x < 0 ? 0 : n - 1; return true;
    case Mode::mirror: {
      if (extent <= 1) return x = 0, true;
      x = wrapped(x, 2 * n - 2);
      if (x > n - 1) x = 2 * n - 2 - x;
      return true;
    }
    case Mode::reflect: {
      x = wrapped(x, 2 * n);
      if (x > n - 0.5) x = 2 * n - 1 - x;
      return true;  // between -1/2 and n - 1/2: its neighbours are found by border_of
    }
    case Mode::wrap: {
      if (extent <= 1) return x = 0, true;
      x = wrapped(x, n - 1);
      return true;
    }
    case Mode::grid_wrap: x = wrapped(x, n); return true;
    default: return false;
  }
}

/// The element that stands at an index beside those of an axis; -1: the constant.
PENSTOCK_HD std::int64_t element_at(std::int64_t i, std::int64_t n, Mode mode) {
  if (i >= 0 && i < n) return i;
  if (mode == Mode::grid_constant) return -1;
  if (mode == Mode::grid_wrap) return i < 0 ? i + n : i - n;
  if (mode == Mode::nearest) return i < 0 ? 0 : n - 1;
  if (n == 1) return 0;
  if (mode == Mode::reflect) return i < 0 ? -1 - i : 2 * n - 1 - i;
  return i < 0 ? -i : 2 * n - 2 - i;
}

template <class T, class C>
struct SampleElement {
  SampleJob<T, C> job;

  PENSTOCK_HD void operator()(std::uint64_t number) const {
    double at[kMaxDimensions];
    if (!find(number, at)) {
      job.out[number] = nearest<T>(job.constant);
      return;
    }
    std::int64_t first[kMaxDimensions];
    C weight[kMaxDimensions];  // of the second element
    for (std::uint32_t d = 0; d < job.dimensions; ++d) {
      const double x = at[d];
      const double below = job.order == 0 ? std::floor(x + 0.5) : std::floor(x);
      first[d] = static_cast<std::int64_t>(below);
      weight[d] = job.order == 0 ? C(0) : static_cast<C>(x - below);
    }
    job.out[number] = nearest<T>(blend(first, weight));
  }

  /// The coordinates of an output, inside of the array; false: there are none.
  PENSTOCK_HD bool find(std::uint64_t number, double* at) const {
    coordinates(number, at);
    return fold(at);
  }
  /// Those inside of the array that stand for coordinates; false: there are none.
  PENSTOCK_HD bool fold(double* at) const {
    for (std::uint32_t d = 0; d < job.dimensions; ++d) {
      const auto end = static_cast<double>(job.shape[d]) - 1;
      if (at[d] > end && at[d] <= end + job.last[d]) at[d] = end;
      if (at[d] < 0 && at[d] >= -job.last[d]) at[d] = 0;
      if (!inside(at[d], job.shape[d], job.mode, job.order > 1)) return false;
    }
    return true;
  }

  PENSTOCK_HD void coordinates(std::uint64_t number, double* at) const {
    if (job.from == From::list) {
      for (std::uint32_t d = 0; d < job.dimensions; ++d)
        at[d] = job.offset[d] + job.coordinates[d * job.outputs + number];
      return;
    }
    double index[kMaxDimensions];
    std::uint64_t rest = number;
    for (std::uint32_t d = job.out_dimensions; d-- > 0;) {
      index[d] = static_cast<double>(static_cast<std::int64_t>(rest % job.out_extent[d]) + job.out_origin[d]);
      rest /= job.out_extent[d];
    }
    for (std::uint32_t d = 0; d < job.dimensions; ++d) {
      if (job.from == From::displacement) {
        at[d] = job.offset[d] + index[d] + job.coordinates[d * job.outputs + number];
        continue;
      }
      double x = job.offset[d];
      for (std::uint32_t k = 0; k < job.out_dimensions; ++k) x += job.matrix[d * kMaxDimensions + k] * index[k];
      at[d] = x;
    }
  }

 private:
  /// The elements around, weighted; those of no weight are not read.
  PENSTOCK_HD C blend(const std::int64_t* first, const C* weight) const {
    C sum = 0;
    for (std::uint32_t corner = 0; corner < (1u << job.dimensions); ++corner) {
      C share = 1;
      std::int64_t from = 0;
      bool there = true;
      for (std::uint32_t d = 0; d < job.dimensions; ++d) {
        const bool second = (corner >> d & 1) != 0;
        share *= second ? weight[d] : C(1) - weight[d];
        const std::int64_t i =
            element_at(first[d] + (second ? 1 : 0), static_cast<std::int64_t>(job.shape[d]), job.mode);
        there = there && i >= 0;
        from += (i - job.origin[d]) * static_cast<std::int64_t>(job.stride[d]);
      }
      if (share == C(0)) continue;
      sum += share * (there ? static_cast<C>(job.in[from]) : job.constant);
    }
    return sum;
  }
};

}  // namespace penstock::sample
