#include "oct/tiles/columns.hpp"

#include <cmath>

#include "oct/tiles/kernel.hpp"
#include "oct/work.hpp"

namespace penstock::oct {

Result<ColumnStatistics> column_statistics(const Tensor& elements, const Tools& tools) {
  const Shape& shape = elements.view().shape;
  const std::uint64_t pixels = shape[1] * shape[2];
  PENSTOCK_ASSIGN(const Numbers<float> mean, Numbers<float>::make(pixels, tools.work));
  PENSTOCK_ASSIGN(const Numbers<std::uint8_t> holds, Numbers<std::uint8_t>::make(pixels, tools.work));
  PENSTOCK_TRY(run_lanes(
      tiles::ColumnMeans{static_cast<const float*>(elements.view().data), shape[0], pixels, mean.at(), holds.at()},
      tools.work));
  ColumnStatistics made;
  PENSTOCK_ASSIGN(made.mean, mean.get(pixels, tools.work));
  PENSTOCK_ASSIGN(made.holds, holds.get(pixels, tools.work));
  return made;
}

void Projection::begin(const TileGrid& grid) {
  grid_ = grid;
  values_.assign(grid.count() * grid.tile_rows * grid.tile_cols, 0);
  empty_.assign(grid.count(), 1);
}

void Projection::put(std::uint64_t tile, const ColumnStatistics& columns) {
  const std::uint64_t width = grid_.cols * grid_.tile_cols;
  float* const to = values_.data() + tile / grid_.cols * grid_.tile_rows * width + tile % grid_.cols * grid_.tile_cols;
  for (std::uint64_t r = 0; r < grid_.tile_rows; ++r)
    for (std::uint64_t c = 0; c < grid_.tile_cols; ++c) {
      const float mean = columns.mean[r * grid_.tile_cols + c];
      to[r * width + c] = std::isfinite(mean) ? mean : 0;
    }
  empty_[tile] = columns.empty() ? 1 : 0;
}

}  // namespace penstock::oct
