// Where tissue begins: one call a column, written once for every processor.
#pragma once
#include <cmath>
#include <cstdint>

#include "oct/kernels/box.hpp"

namespace penstock::oct {

/// Natural logarithm of what is above 0; the rest as it is.  `out` is packed.
struct LogOfPositive {
  ConstBox in;
  float* out;
  PENSTOCK_HD void operator()(std::uint64_t i) const {
    const std::uint64_t c = i % in.cols, r = i / in.cols % in.rows, z = i / in.columns();
    const float v = *in.at(z, r, c);
    // In double: what is rounded to float32 is then the same on every processor.
    out[i] = v > 0 ? static_cast<float>(std::log(static_cast<double>(v))) : v;
  }
};

/// 1 for each column that holds anything but 0.
struct ColumnHolds {
  ConstBox in;
  std::uint8_t* out;
  PENSTOCK_HD void operator()(std::uint64_t i) const {
    const float* const at = in.column(i);
    std::uint8_t any = 0;
    for (std::uint64_t z = 0; z < in.depth; ++z)
      if (!(at[static_cast<std::int64_t>(z) * in.plane] == 0)) any = 1;
    out[i] = any;
  }
};

/// Where the parabola through a largest value and its two neighbours is highest, from it.
PENSTOCK_HD double above_peak(double before, double here, double after) {
  const double curve = before - 2 * here + after;
  return curve < 0 ? 0.5 * (before - after) / curve : 0;
}

/// Where each column is largest, the first of equals; what is not finite is less than all.
struct ColumnPeak {
  ConstBox in;
  double* out;
  bool whole = false;      ///< no fractions
  bool absolute = false;   ///< of values without their sign
  double add = 0;          ///< to a whole plane, which is then rounded up
  bool keep_less = false;  ///< of what `out` holds and the peak, the less

  [[nodiscard]] PENSTOCK_HD double value(const float* at, std::uint64_t z) const {
    const float v = at[static_cast<std::int64_t>(z) * in.plane];
    if (!(v - v == 0)) return -3.5e38;  // NaN and infinite; below every float32
    return absolute && v < 0 ? -static_cast<double>(v) : static_cast<double>(v);
  }
  PENSTOCK_HD void operator()(std::uint64_t i) const {
    const float* const at = in.column(i);
    std::uint64_t best = 0;
    double largest = value(at, 0);
    for (std::uint64_t z = 1; z < in.depth; ++z) {
      const double v = value(at, z);
      if (v > largest) largest = v, best = z;
    }
    double peak = static_cast<double>(best);
    if (!whole && best > 0 && best + 1 < in.depth) {
      const double before = value(at, best - 1), after = value(at, best + 1);
      if (before > -3.45e38 && after > -3.45e38) peak += above_peak(before, largest, after);
    }
    if (whole) peak = std::ceil(peak + add);
    out[i] = keep_less && out[i] < peak ? out[i] : peak;
  }
};

/// Weighted sums along depth of those elements of a column that a mask holds (above 0), as if they followed each other;
/// mirrored about the edges of the outermost.  0 where the mask holds nothing.
struct MaskedCorrelation {
  ConstBox in, mask;
  const double* weights;  ///< 2 * radius + 1
  std::uint64_t radius = 0;
  float* held;  ///< working memory, packed as `out`
  float* out;   ///< (depth, rows, cols), packed

  PENSTOCK_HD void operator()(std::uint64_t i) const {
    const float* const at = in.column(i);
    const float* const inside = mask.column(i);
    const std::uint64_t stride = in.columns();
    std::uint64_t n = 0;
    for (std::uint64_t z = 0; z < in.depth; ++z)
      if (inside[static_cast<std::int64_t>(z) * mask.plane] > 0)
        held[n++ * stride + i] = at[static_cast<std::int64_t>(z) * in.plane];
    std::uint64_t k = 0;
    for (std::uint64_t z = 0; z < in.depth; ++z) {
      double sum = 0;
      if (inside[static_cast<std::int64_t>(z) * mask.plane] > 0) {
        for (std::uint64_t w = 0; w <= 2 * radius; ++w) {
          const std::int64_t period = 2 * static_cast<std::int64_t>(n);
          std::int64_t from = static_cast<std::int64_t>(k + w) - static_cast<std::int64_t>(radius);
          from = (from % period + period) % period;
          if (from >= static_cast<std::int64_t>(n)) from = period - 1 - from;
          sum += weights[w] * static_cast<double>(held[static_cast<std::uint64_t>(from) * stride + i]);
        }
        ++k;
      }
      out[z * stride + i] = static_cast<float>(sum);
    }
  }
};

/// Adds the rows of a box to one row, plane by plane, in columns that are bright enough; what is not finite is left
/// out.
struct AddBrightRows {
  ConstBox in;
  const float* brightness;  ///< of each column: row i of the box is row i of it
  double threshold = 0;
  double* sums;  ///< (depth, all_cols): the box's columns begin at first_col
  std::uint64_t all_cols = 0, first_col = 0;

  PENSTOCK_HD void operator()(std::uint64_t i) const {
    const std::uint64_t z = i / in.cols, c = i % in.cols;
    double* const sum = sums + z * all_cols + first_col + c;
    double made = *sum;
    for (std::uint64_t r = 0; r < in.rows; ++r) {
      const float v = *in.at(z, r, c);
      if (static_cast<double>(brightness[r * in.cols + c]) > threshold && v - v == 0) made += static_cast<double>(v);
    }
    *sum = made;
  }
};

}  // namespace penstock::oct
