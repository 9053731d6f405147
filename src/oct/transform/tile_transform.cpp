#include "oct/transform/tile_transform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "oct/file/npy.hpp"

namespace penstock::oct {

Result<TileTransform> read_transform(const std::string& path) {
  PENSTOCK_ASSIGN(const NpyArray array, read_npy(path));
  if (array.shape != Shape{2, 2})
    return Error(ErrorCode::invalid_metadata,
                 fmt::format("{}: shape {}, a tile transform has [2, 2]", path, to_string(array.shape)));
  TileTransform transform;
  std::ranges::copy(array.values, transform.m.begin());
  return transform;
}

Status write_transform(const std::string& path, const TileTransform& transform) {
  return write_npy(path, Shape{2, 2}, transform.m);
}

Result<TileLayout> layout_of(const TileTransform& transform, std::uint64_t grid_rows, std::uint64_t grid_cols,
                             std::uint64_t tile_rows, std::uint64_t tile_cols) {
  const auto most = 2 * static_cast<double>(std::max(tile_rows, tile_cols));
  for (const double v : transform.m)
    if (!(std::abs(v) <= most))
      return Error(
          ErrorCode::invalid_metadata,
          fmt::format("the tile transform has a step of {} pixels; tiles have {} x {}", v, tile_rows, tile_cols));
  std::vector<std::int64_t> rows, cols;
  double row_error = 0, col_error = 0;  // sums of what rounding adds
  for (std::uint64_t i = 0; i < grid_rows; ++i)
    for (std::uint64_t j = 0; j < grid_cols; ++j) {
      rows.push_back(std::llround(transform.row(i, j)));
      cols.push_back(std::llround(transform.col(i, j)));
      row_error += static_cast<double>(rows.back()) - transform.row(i, j);
      col_error += static_cast<double>(cols.back()) - transform.col(i, j);
    }
  TileLayout layout;
  if (rows.empty()) return layout;
  const auto [top, bottom] = std::ranges::minmax(rows);
  const auto [left, right] = std::ranges::minmax(cols);
  layout.top = static_cast<double>(top) - row_error / static_cast<double>(rows.size());
  layout.left = static_cast<double>(left) - col_error / static_cast<double>(cols.size());
  for (std::size_t k = 0; k < rows.size(); ++k) {
    layout.rows.push_back(static_cast<std::uint64_t>(rows[k] - top));
    layout.cols.push_back(static_cast<std::uint64_t>(cols[k] - left));
  }
  layout.height = static_cast<std::uint64_t>(bottom - top) + tile_rows;
  layout.width = static_cast<std::uint64_t>(right - left) + tile_cols;
  return layout;
}

}  // namespace penstock::oct
