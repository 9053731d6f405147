// Tiles and slices laid over each other.
#pragma once
#include <cstdint>

#include "oct/kernels/box.hpp"

namespace penstock::oct {

/// Lays a tile on a part of a slice, unless it holds nothing: sums, with how many tiles lie at each column; or in place
/// of what is there.  Of the tile only what lies on the part.
struct LayTile {
  ConstBox tile;
  const std::uint8_t* holds;  ///< 0 where no column of the tile holds anything
  Box part;
  std::int64_t row = 0, col = 0;  ///< of the tile's first element, on the part
  float* covers;                  ///< of each column of the part
  bool replaces = false;

  PENSTOCK_HD void operator()(std::uint64_t i) const {
    if (*holds == 0) return;
    const std::uint64_t c = i % tile.cols, r = i / tile.cols % tile.rows, z = i / tile.columns();
    const std::int64_t to_row = row + static_cast<std::int64_t>(r), to_col = col + static_cast<std::int64_t>(c);
    if (to_row < 0 || to_col < 0 || to_row >= static_cast<std::int64_t>(part.rows) ||
        to_col >= static_cast<std::int64_t>(part.cols))
      return;
    float* const to = part.at(z, static_cast<std::uint64_t>(to_row), static_cast<std::uint64_t>(to_col));
    const float v = *tile.at(z, r, c);
    *to = replaces ? v : *to + v;
    if (z == 0) covers[static_cast<std::uint64_t>(to_row) * part.cols + static_cast<std::uint64_t>(to_col)] += 1;
  }
};

/// 1 for each `count` neighbours of which any is not 0.
struct AnyOf {
  const std::uint8_t* in;
  std::uint64_t count;
  std::uint8_t* out;
  PENSTOCK_HD void operator()(std::uint64_t i) const {
    std::uint8_t any = 0;
    for (std::uint64_t k = 0; k < count; ++k) any = any | (in[i * count + k] != 0);
    out[i] = any;
  }
};

/// Sums become means.
struct DivideByCovers {
  float* values;  ///< (depth, columns)
  const float* covers;
  std::uint64_t columns;
  PENSTOCK_HD void operator()(std::uint64_t i) const {
    const float n = covers[i % columns];
    if (n > 1) values[i] /= n;
  }
};

struct FillZero {
  float* out;
  PENSTOCK_HD void operator()(std::uint64_t i) const { out[i] = 0; }
};

/// A slice in a stack.
struct SliceInStack {
  std::uint64_t first = 0, planes = 0;  ///< in the volume
  std::uint64_t from = 0;               ///< its first plane in the box that holds all slices
  std::uint64_t shared = 0;             ///< planes at its top that those before it have too
  std::uint64_t weights = 0;            ///< of those planes, where in the table
};

/// Each element of the volume from the slices there, from the top down: where both hold something (above 0), from what
/// is there to the new by the plane's weight; else the one that does.
struct StackSlices {
  ConstBox in;  ///< the slices one after another along depth
  float* out;   ///< (planes of the volume, rows, cols), packed
  const SliceInStack* slices;
  std::uint64_t count;
  const float* weights;

  PENSTOCK_HD void operator()(std::uint64_t i) const {
    const std::uint64_t c = i % in.cols, r = i / in.cols % in.rows, z = i / in.columns();
    float v = 0;
    for (std::uint64_t k = 0; k < count; ++k) {
      const SliceInStack s = slices[k];
      if (z < s.first || z >= s.first + s.planes) continue;
      const std::uint64_t own = z - s.first;
      const float next = *in.at(s.from + own, r, c);
      if (own < s.shared && v > 0 && next > 0)
        v += weights[s.weights + own] * (next - v);
      else if (next > 0)
        v = next;
    }
    out[i] = v;
  }
};

}  // namespace penstock::oct
