// Where tiles lie: position = matrix * (row, column of the grid), in pixels.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "penstock/error.hpp"

namespace penstock::oct {

/// position_row = m[0] * i + m[1] * j, position_col = m[2] * i + m[3] * j.
struct TileTransform {
  std::array<double, 4> m = {};
  [[nodiscard]] double row(std::uint64_t i, std::uint64_t j) const {
    return m[0] * static_cast<double>(i) + m[1] * static_cast<double>(j);
  }
  [[nodiscard]] double col(std::uint64_t i, std::uint64_t j) const {
    return m[2] * static_cast<double>(i) + m[3] * static_cast<double>(j);
  }
};
/// A .npy of shape (2, 2).  Errors: not_found, corrupt_data, invalid_metadata; with the path.
Result<TileTransform> read_transform(const std::string& path);
Status write_transform(const std::string& path, const TileTransform& transform);

/// Where each tile lies in whole pixels, the least at 0, and the image that holds them all.
struct TileLayout {
  std::vector<std::uint64_t> rows, cols;  ///< of the tiles, row by row of the grid
  std::uint64_t height = 0, width = 0;
  /// Where the image begins, pixels from tile (0, 0): there tiles lie, on average over all, where they should.
  double top = 0, left = 0;
};
/// Positions are rounded to the nearest pixel.  Errors: invalid_metadata (steps that are no steps of tiles: beyond
/// twice a tile).
Result<TileLayout> layout_of(const TileTransform& transform, std::uint64_t grid_rows, std::uint64_t grid_cols,
                             std::uint64_t tile_rows, std::uint64_t tile_cols);

}  // namespace penstock::oct
