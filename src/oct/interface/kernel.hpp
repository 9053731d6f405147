// Where columns rise most steeply, written once for every processor: a task is some neighbouring columns.
#pragma once
#include <cmath>
#include <cstdint>

#include "device/portable.hpp"
#include "oct/tiles/kernel.hpp"

namespace penstock::oct::interface {

/// The logarithm of what is above 0, in place.
struct LogPositive {
  float* values;
  PENSTOCK_HD void operator()(std::uint64_t i) const {
    if (values[i] > 0) values[i] = std::log(values[i]);
  }
};

/// Of each column the plane of the largest value, the first of equals, to a fraction of a plane by the parabola through
/// it and its neighbours.
struct Steepest {
  const float* rise;
  std::uint64_t depth, pixels;
  bool whole_planes;  ///< instead: the plane plus `half_sigma`, rounded up
  double half_sigma;
  bool absolute;  ///< of values without their sign
  double* map;

  [[nodiscard]] PENSTOCK_HD std::uint64_t count(int width) const { return tiles::groups_of(pixels, width); }
  PENSTOCK_HD void operator()(std::uint64_t i) const { at<1>(i); }
  template <int kWidth>
  PENSTOCK_HD void at(std::uint64_t i) const {
    const tiles::Span span(i, pixels, kWidth);
    float best[kWidth] = {};
    std::uint32_t plane[kWidth] = {};
    for (std::uint64_t z = 0; z < depth; ++z) {
      const float* const line = rise + z * pixels + span.first;
      for (int w = 0; w < span.width; ++w) {
        const float v = value(line[w]);
        const bool more = z == 0 || v > best[w];
        best[w] = more ? v : best[w];
        plane[w] = more ? static_cast<std::uint32_t>(z) : plane[w];
      }
    }
    for (int w = 0; w < span.width; ++w) {
      const std::uint64_t x = span.first + static_cast<std::uint64_t>(w);
      map[x] = whole_planes ? std::ceil(static_cast<double>(plane[w]) + half_sigma) : peak(x, plane[w]);
    }
  }

 private:
  static constexpr float kLeast = -3.402823466e38F;
  /// What is not finite is less than all.
  [[nodiscard]] PENSTOCK_HD float value(float v) const {
    if (!(v - v == 0)) return kLeast;
    return absolute && v < 0 ? -v : v;
  }
  [[nodiscard]] PENSTOCK_HD double peak(std::uint64_t x, std::uint64_t z) const {
    const auto whole = static_cast<double>(z);
    if (z == 0 || z + 1 >= depth) return whole;
    const float below = value(rise[(z - 1) * pixels + x]), above = value(rise[(z + 1) * pixels + x]);
    if (below == kLeast || above == kLeast) return whole;
    const auto before = static_cast<double>(below), after = static_cast<double>(above);
    const double curve = before - 2 * static_cast<double>(value(rise[z * pixels + x])) + after;
    return whole + (curve < 0 ? 0.5 * (before - after) / curve : 0);
  }
};

/// The derivative of a Gaussian along what a mask holds of each column, as if it lay without gaps; elsewhere `outside`.
struct MaskedRise {
  const float* in;
  const float* mask;      ///< above 0: it counts
  const double* weights;  ///< of the elements from -radius to radius
  std::int64_t radius;
  std::uint64_t depth, pixels;
  float outside;
  float* held;  ///< (depth, pixels) to work in
  float* rise;

  PENSTOCK_HD void operator()(std::uint64_t x) const {
    std::int64_t n = 0;
    for (std::uint64_t z = 0; z < depth; ++z)
      if (mask[z * pixels + x] > 0) held[static_cast<std::uint64_t>(n++) * pixels + x] = in[z * pixels + x];
    std::int64_t k = 0;
    for (std::uint64_t z = 0; z < depth; ++z) {
      float& out = rise[z * pixels + x];
      if (!(mask[z * pixels + x] > 0)) {
        out = outside;
        continue;
      }
      double sum = 0;
      for (std::int64_t j = -radius; j <= radius; ++j)
        sum += weights[j + radius] * static_cast<double>(held[reflected(k + j, n) * pixels + x]);
      out = static_cast<float>(sum);
      ++k;
    }
  }

 private:
  /// Beyond the ends, backwards from the outermost element on, which counts twice.
  [[nodiscard]] static PENSTOCK_HD std::uint64_t reflected(std::int64_t i, std::int64_t n) {
    const std::int64_t m = ((i % (2 * n)) + 2 * n) % (2 * n);
    return static_cast<std::uint64_t>(m < n ? m : 2 * n - 1 - m);
  }
};

}  // namespace penstock::oct::interface

#define PENSTOCK_OCT_INTERFACE_JOBS(M) M(interface::LogPositive) M(interface::Steepest) M(interface::MaskedRise)
