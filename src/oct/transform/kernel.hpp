// Images laid over each other at many offsets, written once for every processor.
#pragma once
#include <cmath>
#include <cstdint>

#include "device/portable.hpp"

namespace penstock::oct::transform {

/// An image where the work is: rows `stride` elements apart.  0 (and NaN) says that nothing was measured there.
struct ImageView {
  const float* values = nullptr;
  std::uint64_t rows = 0, cols = 0, stride = 0;
};

/// Element (0, 0) of `moving` about (row, col) of `fixed`.
struct Guess {
  ImageView fixed, moving;
  std::int64_t row = 0, col = 0;
};

/// What two images share, and how alike it is.
inline constexpr std::int64_t kLeastShared = 16;  ///< pixels; fewer may fit by chance
inline constexpr double kNotAlike = -2;           ///< they share too little, or it does not vary

/// Normalised correlation of what both have measured, at each whole offset within `reach` of each guess.
struct Correlate {
  const Guess* guesses;
  std::int64_t reach;
  double* out;  ///< (guesses, offsets by row, offsets by column)

  [[nodiscard]] PENSTOCK_HD std::uint64_t side() const { return static_cast<std::uint64_t>(2 * reach + 1); }
  PENSTOCK_HD void operator()(std::uint64_t i) const {
    const std::uint64_t offset = i % (side() * side());
    const Guess& g = guesses[i / (side() * side())];
    out[i] = at(g, g.row - reach + static_cast<std::int64_t>(offset / side()),
                g.col - reach + static_cast<std::int64_t>(offset % side()));
  }

  static PENSTOCK_HD double at(const Guess& g, std::int64_t row, std::int64_t col) {
    const auto lesser = [](std::int64_t a, std::int64_t b) { return a < b ? a : b; };
    const ImageView &a = g.fixed, &b = g.moving;
    const std::int64_t r0 = row > 0 ? row : 0, c0 = col > 0 ? col : 0;
    const std::int64_t r1 = lesser(static_cast<std::int64_t>(a.rows), row + static_cast<std::int64_t>(b.rows));
    const std::int64_t c1 = lesser(static_cast<std::int64_t>(a.cols), col + static_cast<std::int64_t>(b.cols));
    double n = 0, sa = 0, sb = 0, saa = 0, sbb = 0, sab = 0;
    for (std::int64_t r = r0; r < r1; ++r) {
      const float* const p = a.values + r * static_cast<std::int64_t>(a.stride);
      const float* const q = b.values + (r - row) * static_cast<std::int64_t>(b.stride) - col;
      for (std::int64_t c = c0; c < c1; ++c) {
        const double u = p[c], v = q[c];
        if (u == 0 || v == 0 || !(u * v == u * v)) continue;
        n += 1, sa += u, sb += v, saa += u * u, sbb += v * v, sab += u * v;
      }
    }
    if (n < kLeastShared) return kNotAlike;
    const double va = saa - sa * sa / n, vb = sbb - sb * sb / n;
    if (!(va > 1e-9 * saa) || !(vb > 1e-9 * sbb)) return kNotAlike;
    return (sab - sa * sb / n) / std::sqrt(va * vb);
  }
};

/// Half the size: the mean of 2 x 2 pixels, 0 where one of them is.
struct HalveImage {
  ImageView from;
  float* to;  ///< (rows / 2, cols / 2)
  PENSTOCK_HD void operator()(std::uint64_t i) const {
    const std::uint64_t c = i % (from.cols / 2), r = i / (from.cols / 2);
    float sum = 0;
    bool all = true;
    for (std::uint64_t k = 0; k < 4; ++k) {
      const float v = from.values[(2 * r + k / 2) * from.stride + 2 * c + k % 2];
      all = all && v != 0;
      sum += v;
    }
    to[i] = all ? sum / 4 : 0;
  }
};

}  // namespace penstock::oct::transform

#define PENSTOCK_OCT_TRANSFORM_JOBS(M) M(transform::Correlate) M(transform::HalveImage)
