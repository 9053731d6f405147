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

/// T: elements; C: the type that values are weighted in (order 0, which weighs nothing: unsigned numbers of the
/// elements' size, both).  Coordinates are double always: float32 does not tell neighbours of a long axis apart well
/// enough. The coordinate inside of an axis that stands for `x`; false: there is none.
PENSTOCK_HD bool inside(double& x, std::uint64_t extent, Mode mode, int order) {
  const auto n = static_cast<double>(extent);
  if (!(x == x) || x > 1e15 || x < -1e15) return false;  // NaN, and what no index can name
  if (order > 1 && mode == Mode::nearest) return true;   // its coefficients go on, not its coordinates
  if (mode == Mode::grid_constant || (x >= 0 && x <= n - 1)) return true;
  const auto wrapped = [](double v, double length) { return v - length * std::floor(v / length); };
  switch (mode) {
    case Mode::nearest: x = x < 0 ? 0 : n - 1; return true;
    case Mode::mirror: {
      if (extent <= 1) return x = 0, true;
      // Of two elements as near the one above is taken, which element_at finds: folded, it would be the one below.
      const double kept = order == 0 && x > 0 && wrapped(x, 2 * n - 2) < n ? n : n - 1;
      x = wrapped(x, 2 * n - 2);
      if (x > kept) x = 2 * n - 2 - x;
      return true;
    }
    case Mode::reflect: {
      x = wrapped(x, 2 * n);
      if (x > n - 0.5) x = 2 * n - 1 - x;
      return true;  // between -1/2 and n - 1/2: its neighbours are found by element_at
    }
    case Mode::wrap: {
      if (extent <= 1) return x = 0, true;
      // The first and the last element stand for each other: coming from below it is the last.
      x = x < 0 ? x + (n - 1) * (std::floor(-x / (n - 1)) + 1) : wrapped(x, n - 1);
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
struct SampleJob {
  const T* in = nullptr;       ///< a box of the array, which begins at `origin`
  std::uint64_t elements = 0;  ///< of it
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

  /// Those inside of the array that stand for coordinates; false: there are none.  kDimensions 0: any number of them.
  template <int kDimensions = 0>
  PENSTOCK_HD bool fold(double* at) const {
    const std::uint32_t count = kDimensions == 0 ? dimensions : kDimensions;
    PENSTOCK_UNROLL
    for (std::uint32_t d = 0; d < count; ++d)
      if (!fold_one(d, at[d])) return false;
    return true;
  }
  PENSTOCK_HD bool fold_one(std::uint32_t d, double& x) const {
    const auto end = static_cast<double>(shape[d]) - 1;
    if (x > end && x <= end + last[d]) x = end;
    if (x < 0 && x >= -last[d]) x = 0;
    return inside(x, shape[d], mode, order);
  }

  PENSTOCK_HD void coordinates_of(std::uint64_t number, double* at) const {
    if (from == From::list) {
      for (std::uint32_t d = 0; d < dimensions; ++d) at[d] = offset[d] + coordinates[d * outputs + number];
      return;
    }
    double index[kMaxDimensions];
    indices_of(number, index);
    for (std::uint32_t d = 0; d < dimensions; ++d) {
      if (from == From::displacement) {
        at[d] = offset[d] + index[d] + coordinates[d * outputs + number];
        continue;
      }
      double x = offset[d];
      for (std::uint32_t k = 0; k < out_dimensions; ++k) x += matrix[d * kMaxDimensions + k] * index[k];
      at[d] = x;
    }
  }

 private:
  PENSTOCK_HD void indices_of(std::uint64_t number, double* index) const {
    if (outputs <= 0xffffffffu) {  // a division of 32 bits costs a device a fraction of one of 64
      auto rest = static_cast<std::uint32_t>(number);
      for (std::uint32_t d = out_dimensions; d-- > 0;) {
        const auto extent = static_cast<std::uint32_t>(out_extent[d]);
        const std::uint32_t above = d == 0 ? 0 : rest / extent;
        index[d] = static_cast<double>(static_cast<std::int64_t>(rest - above * extent) + out_origin[d]);
        rest = above;
      }
      return;
    }
    for (std::uint32_t d = out_dimensions; d-- > 0; number /= out_extent[d])
      index[d] = static_cast<double>(static_cast<std::int64_t>(number % out_extent[d]) + out_origin[d]);
  }
};

/// Order 0: the nearest element.  kDimensions 0: of any number of dimensions.
template <class T, int kDimensions>
struct NearestElement {
  static constexpr int kRank = kDimensions, kTaps = 1;
  SampleJob<T, T> job;

  PENSTOCK_HD void operator()(std::uint64_t number) const {
    double at[kMaxDimensions];
    job.coordinates_of(number, at);
    job.out[number] = any(at);
  }
  /// At any coordinates, which are folded.
  PENSTOCK_HD T any(double* at) const { return job.template fold<kDimensions>(at) ? value(at) : job.constant; }
  /// At coordinates inside of the array.
  PENSTOCK_HD T value(const double* at) const {
    std::int64_t from = 0;
    const std::uint32_t dimensions = kDimensions == 0 ? job.dimensions : kDimensions;
    PENSTOCK_UNROLL
    for (std::uint32_t d = 0; d < dimensions; ++d) {
      const std::int64_t i = element_at(static_cast<std::int64_t>(std::floor(at[d] + 0.5)),
                                        static_cast<std::int64_t>(job.shape[d]), job.mode);
      if (i < 0) return job.constant;
      from += (i - job.origin[d]) * static_cast<std::int64_t>(job.stride[d]);
    }
    return job.in[from];
  }
};

}  // namespace penstock::sample
