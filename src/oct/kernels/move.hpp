// Columns moved along depth.
#pragma once
#include <cstdint>

#include "oct/kernels/box.hpp"

namespace penstock::oct {

/// Columns of whole tiles, each moved up by its value of the map of one tile: between planes linearly, the first and
/// the last plane held; or by whole planes, cut off towards 0, around the end.
struct MoveColumns {
  ConstBox in;
  float* out;         ///< packed
  const double* map;  ///< (tile_rows, tile_cols), in planes
  std::uint64_t tile_rows = 0, tile_cols = 0;
  bool whole_planes = false;

  PENSTOCK_HD void operator()(std::uint64_t i) const {
    const std::uint64_t c = i % in.cols, r = i / in.cols % in.rows, z = i / in.columns();
    const double by = map[r % tile_rows * tile_cols + c % tile_cols];
    if (whole_planes) {
      const auto n = static_cast<std::int64_t>(in.depth);
      const std::int64_t from = (static_cast<std::int64_t>(z) + static_cast<std::int64_t>(by) % n + n) % n;
      out[i] = *in.at(static_cast<std::uint64_t>(from), r, c);
      return;
    }
    const auto last = static_cast<double>(in.depth - 1);
    double from = static_cast<double>(z) + by;
    from = from < 0 ? 0 : (from > last ? last : from);
    const auto low = static_cast<std::uint64_t>(from);
    const std::uint64_t high = low + 1 < in.depth ? low + 1 : low;
    const auto w = static_cast<float>(from - static_cast<double>(low));
    const float a = *in.at(low, r, c), b = *in.at(high, r, c);
    out[i] = w > 0 ? a + w * (b - a) : a;
  }
};

}  // namespace penstock::oct
