// Values of a spline: written once for every processor.
#pragma once
#include "ops/sample/kernel.hpp"

namespace penstock::sample {

/// The B-spline of an order, at a distance from its middle.
template <class C>
PENSTOCK_HD C b_spline(int order, C t) {
  t = t < C(0) ? -t : t;
  switch (order) {
    case 1: return t < C(1) ? C(1) - t : C(0);
    case 2:
      if (t < C(0.5)) return C(0.75) - t * t;
      return t < C(1.5) ? C(0.5) * (C(1.5) - t) * (C(1.5) - t) : C(0);
    case 3:
      if (t < C(1)) return C(2.0 / 3) + t * t * (C(0.5) * t - C(1));
      return t < C(2) ? (C(2) - t) * (C(2) - t) * (C(2) - t) * C(1.0 / 6) : C(0);
    case 4: {
      const C t2 = t * t, far = C(2.5) - t;
      if (t < C(0.5)) return t2 * (C(0.25) * t2 - C(0.625)) + C(115.0 / 192);
      if (t < C(1.5)) return t * (t * (t * (C(5.0 / 6) - t * C(1.0 / 6)) - C(1.25)) + C(5.0 / 24)) + C(55.0 / 96);
      return t < C(2.5) ? far * far * far * far * C(1.0 / 24) : C(0);
    }
    default: {
      const C t2 = t * t, far = C(3) - t;
      if (t < C(1)) return t2 * (t2 * (C(0.25) - t * C(1.0 / 12)) - C(0.5)) + C(0.55);
      if (t < C(2)) return t * (t * (t * (t * (t * C(1.0 / 24) - C(0.375)) + C(1.25)) - C(1.75)) + C(0.625)) + C(0.425);
      return t < C(3) ? far * far * far * far * far * C(1.0 / 120) : C(0);
    }
  }
}

/// Coefficients go on beyond the ends as the spline does; modes without one of their own are mirrored.  -1: constant.
PENSTOCK_HD std::int64_t coefficient_at(std::int64_t i, std::int64_t n, Mode mode) {
  if (i >= 0 && i < n) return i;
  if (mode == Mode::grid_constant) return -1;
  if (mode == Mode::nearest) return i < 0 ? 0 : n - 1;
  const bool mirrors = mode == Mode::constant || mode == Mode::wrap || mode == Mode::mirror;
  if (mirrors && n == 1) return 0;
  const std::int64_t period = mode == Mode::grid_wrap ? n : mirrors ? 2 * n - 2 : 2 * n;
  i %= period;
  if (i < 0) i += period;
  if (i < n) return i;
  return mirrors ? period - i : period - 1 - i;
}

/// The coefficients around a coordinate, along one axis; kOrder 0: of the order that is said at run time.
template <class C, int kOrder>
struct Taps {
  static constexpr int kMost = (kOrder == 0 ? kMaxOrder : kOrder) + 1;
  std::int64_t offset[kMost];  ///< in memory
  C weight[kMost];
  C beyond = C(0);  ///< weight of the constant

  PENSTOCK_HD void find(int order, double x, std::uint64_t extent, std::int64_t origin, std::uint64_t stride,
                        Mode mode) {
    if constexpr (kOrder > 0) order = kOrder;
    const auto n = static_cast<std::int64_t>(extent);
    const auto below = static_cast<std::int64_t>(std::floor(order % 2 == 1 ? x : x + 0.5));
    const std::int64_t first = below - order / 2;
    const C rest = static_cast<C>(x - static_cast<double>(below));
    beyond = C(0);
    const bool within = first >= 0 && first + order < n;
    PENSTOCK_UNROLL
    for (int k = 0; k < kMost; ++k) {
      if (k > order) break;
      weight[k] = b_spline<C>(order, rest - static_cast<C>(k - order / 2));
      std::int64_t at = first + k;
      if (!within) {
        at = coefficient_at(at, n, mode);
        if (at < 0) {
          beyond += weight[k];
          weight[k] = C(0);
          at = origin;  // read, and weighted with nothing
        }
      }
      offset[k] = (at - origin) * static_cast<std::int64_t>(stride);
    }
  }
};

/// In kDimensions dimensions, of order kOrder; 0: any.
template <class T, class C, int kOrder, int kDimensions>
struct SplineElement {
  static constexpr int kRank = kDimensions, kTaps = kOrder == 0 ? 0 : kOrder + 1;
  SampleJob<T, C> job;

  PENSTOCK_HD void operator()(std::uint64_t number) const {
    double at[kMaxDimensions];
    job.coordinates_of(number, at);
    job.out[number] = any(at);
  }
  /// At any coordinates, which are folded.
  PENSTOCK_HD T any(double* at) const {
    return nearest<T>(job.template fold<kDimensions>(at) ? value(at) : job.constant);
  }

  /// At coordinates inside of the array.
  PENSTOCK_HD C value(const double* at) const {
    constexpr int kHeld = kDimensions == 0 ? static_cast<int>(kMaxDimensions) : kDimensions;
    Taps<C, kOrder> taps[kHeld];
    const int dimensions = kDimensions == 0 ? static_cast<int>(job.dimensions) : kDimensions;
    C inside = C(1);  // weight of what is not the constant
    PENSTOCK_UNROLL
    for (int d = 0; d < dimensions; ++d) {
      taps[d].find(job.order, at[d], job.shape[d], job.origin[d], job.stride[d], job.mode);
      inside *= C(1) - taps[d].beyond;
    }
    C sum = add_up(taps, dimensions);
    if (inside != C(1)) sum += (C(1) - inside) * job.constant;
    return sum;
  }

 private:
  [[nodiscard]] PENSTOCK_HD int order() const { return kOrder == 0 ? job.order : kOrder; }

  template <class Array>
  PENSTOCK_HD C add_up(const Array& taps, int dimensions) const {
    if constexpr (kDimensions == 1) {
      return row(job.in, taps[0]);
    } else if constexpr (kDimensions == 2) {
      return plane(job.in, taps[0], taps[1]);
    } else if constexpr (kDimensions == 3) {
      C sum = C(0);
      PENSTOCK_UNROLL
      for (int k = 0; k <= order(); ++k) sum += taps[0].weight[k] * plane(job.in + taps[0].offset[k], taps[1], taps[2]);
      return sum;
    } else {
      int index[kMaxDimensions] = {};
      C sum = C(0);
      for (;;) {
        C weight = C(1);
        std::int64_t from = 0;
        for (int d = 0; d + 1 < dimensions; ++d) {
          weight *= taps[d].weight[index[d]];
          from += taps[d].offset[index[d]];
        }
        sum += weight * row(job.in + from, taps[dimensions - 1]);
        int d = dimensions - 2;
        for (; d >= 0 && ++index[d] > order(); --d) index[d] = 0;
        if (d < 0) return sum;
      }
    }
  }
  PENSTOCK_HD C row(const T* in, const Taps<C, kOrder>& taps) const {
    C sum = C(0);
    PENSTOCK_UNROLL
    for (int k = 0; k <= order(); ++k) sum += taps.weight[k] * static_cast<C>(in[taps.offset[k]]);
    return sum;
  }
  PENSTOCK_HD C plane(const T* in, const Taps<C, kOrder>& rows, const Taps<C, kOrder>& columns) const {
    C sum = C(0);
    PENSTOCK_UNROLL
    for (int k = 0; k <= order(); ++k) sum += rows.weight[k] * row(in + rows.offset[k], columns);
    return sum;
  }
};

/// Calls f with what makes one output of a job.  There are few kinds: each costs the library as much as all types of
/// an order cost together.  Orders 1 and 3 in the plane and in space have one of their own; of the others' elements
/// T is C (sampled_type).  False: they are not.
template <class T, class C, class F>
bool with_element(const SampleJob<T, C>& job, const F& f) {
  if constexpr (std::is_same_v<T, C> && std::is_integral_v<T>) {
    return f(NearestElement<T, 0>{job}), true;
  } else {
    if (job.order == 1 && job.dimensions == 2) return f(SplineElement<T, C, 1, 2>{job}), true;
    if (job.order == 1 && job.dimensions == 3) return f(SplineElement<T, C, 1, 3>{job}), true;
    if constexpr (std::is_same_v<T, C>) {
      if (job.order == 3 && job.dimensions == 2) return f(SplineElement<T, C, 3, 2>{job}), true;
      if (job.order == 3 && job.dimensions == 3) return f(SplineElement<T, C, 3, 3>{job}), true;
      return f(SplineElement<T, C, 0, 0>{job}), true;
    }
    return false;
  }
}

}  // namespace penstock::sample
