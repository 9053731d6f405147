// Tiles on a slice, and slices on a volume: written once for every processor.  A task is some neighbouring pixels of a
// row, or of a plane.
#pragma once
#include <cstdint>

#include "device/portable.hpp"
#include "oct/tiles/kernel.hpp"

namespace penstock::oct::stitch {

/// A tile (planes, rows, columns) on a canvas: over what is there, or added to it.
struct LayTile {
  const float* tile;
  std::uint64_t planes, rows, cols;
  float* canvas;         ///< (planes, height, width), at the tile's first pixel
  std::uint8_t* covers;  ///< (height, width), at the tile's first pixel: tiles that lie there
  std::uint64_t width, plane_pixels;
  bool adds;

  [[nodiscard]] PENSTOCK_HD std::uint64_t count(int w) const { return planes * rows * tiles::groups_of(cols, w); }
  PENSTOCK_HD void operator()(std::uint64_t i) const { at<1>(i); }
  template <int kWidth>
  PENSTOCK_HD void at(std::uint64_t i) const {
    const std::uint64_t groups = tiles::groups_of(cols, kWidth), line = i / groups;
    const std::uint64_t z = line / rows, r = line % rows;
    const tiles::Span span(i % groups, cols, kWidth);
    const float* const from = tile + line * cols + span.first;
    float* const to = canvas + z * plane_pixels + r * width + span.first;
    for (int w = 0; w < span.width; ++w) to[w] = adds ? to[w] + from[w] : from[w];
    if (z != 0) return;
    std::uint8_t* const n = covers + r * width + span.first;
    for (int w = 0; w < span.width; ++w) n[w] = n[w] < 255 ? static_cast<std::uint8_t>(n[w] + 1) : n[w];
  }
};

/// The mean where several tiles lie.
struct Average {
  float* canvas;
  const std::uint8_t* covers;
  std::uint64_t planes, pixels;

  [[nodiscard]] PENSTOCK_HD std::uint64_t count(int w) const { return planes * tiles::groups_of(pixels, w); }
  PENSTOCK_HD void operator()(std::uint64_t i) const { at<1>(i); }
  template <int kWidth>
  PENSTOCK_HD void at(std::uint64_t i) const {
    const std::uint64_t groups = tiles::groups_of(pixels, kWidth);
    const tiles::Span span(i % groups, pixels, kWidth);
    float* const to = canvas + i / groups * pixels + span.first;
    const std::uint8_t* const n = covers + span.first;
    for (int w = 0; w < span.width; ++w)
      if (n[w] > 1) to[w] /= static_cast<float>(n[w]);
  }
};

/// A slice on the planes of a volume that it belongs to.  Where both hold something, by the part `fade` of each plane
/// from what is there to the new; else the one that does.
struct LaySlice {
  const float* slice;                    ///< (planes, pixels)
  const double* fade;                    ///< of each plane
  std::uint64_t planes, pixels, shared;  ///< the first `shared` planes lie on others
  float* volume;                         ///< at the slice's first plane

  [[nodiscard]] PENSTOCK_HD std::uint64_t count(int w) const { return planes * tiles::groups_of(pixels, w); }
  PENSTOCK_HD void operator()(std::uint64_t i) const { at<1>(i); }
  template <int kWidth>
  PENSTOCK_HD void at(std::uint64_t i) const {
    const std::uint64_t groups = tiles::groups_of(pixels, kWidth), z = i / groups;
    const tiles::Span span(i % groups, pixels, kWidth);
    const float* const from = slice + z * pixels + span.first;
    float* const to = volume + z * pixels + span.first;
    const auto part = static_cast<float>(fade[z]);
    for (int w = 0; w < span.width; ++w) {
      const bool both = z < shared && to[w] > 0 && from[w] > 0;
      to[w] = both ? to[w] + part * (from[w] - to[w]) : from[w] > 0 ? from[w] : to[w];
    }
  }
};

/// Sums of the products of planes of two sets, in parts: index (pairs, kParts).
struct PairSums {
  static constexpr std::uint32_t kParts = 128;
  const float* a;              ///< (planes of a, pixels)
  const float* b;              ///< (planes of b, pixels)
  const std::uint32_t* pairs;  ///< two each: a plane of a, a plane of b
  std::uint64_t pixels;
  float shift_a, shift_b;  ///< that are taken off
  double* sums;

  PENSTOCK_HD void operator()(std::uint64_t i) const {
    const float* const x = a + pairs[2 * (i / kParts)] * pixels;
    const float* const y = b + pairs[2 * (i / kParts) + 1] * pixels;
    double sum = 0;
    for (std::uint64_t k = i % kParts; k < pixels; k += kParts)
      sum += static_cast<double>((x[k] - shift_a) * (y[k] - shift_b));
    sums[i] = sum;
  }
};

}  // namespace penstock::oct::stitch

#define PENSTOCK_OCT_STITCH_JOBS(M) M(stitch::LayTile) M(stitch::Average) M(stitch::LaySlice) M(stitch::PairSums)
