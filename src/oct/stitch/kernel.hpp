// Tiles laid over each other, written once for every processor.
#pragma once
#include <cstdint>

#include "oct/walk/box.hpp"

namespace penstock::oct::stitch {

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

}  // namespace penstock::oct::stitch

#define PENSTOCK_OCT_STITCH_JOBS(M) M(stitch::ColumnHolds) M(stitch::AnyOf) M(stitch::LayTile) M(stitch::DivideByCovers)
