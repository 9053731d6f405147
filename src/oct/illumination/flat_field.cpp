#include "oct/illumination/flat_field.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "oct/memory.hpp"
#include "penstock/ops.hpp"

namespace penstock::oct {
namespace {

constexpr double kLeast = 0.05;  // a field below this part of its mean would blow up noise

}  // namespace

Result<FlatField> mean_flat_field(std::span<const float> projection, const TileGrid& grid, double sigma,
                                  const Options& options) {
  FlatField field{grid.tile_rows, grid.tile_cols, std::vector<double>(grid.tile_rows * grid.tile_cols), 0};
  const std::uint64_t width = projection.size() / (grid.rows * grid.tile_rows);
  for (std::uint64_t i = 0; i < grid.rows; ++i)
    for (std::uint64_t j = 0; j < grid.cols; ++j) {
      const float* const tile = projection.data() + i * grid.tile_rows * width + j * grid.tile_cols;
      double sum = 0;
      for (std::uint64_t r = 0; r < grid.tile_rows; ++r)
        for (std::uint64_t c = 0; c < grid.tile_cols; ++c) sum += tile[r * width + c];
      if (!(sum > 0)) continue;
      const double mean = sum / static_cast<double>(field.values.size());
      for (std::uint64_t r = 0; r < grid.tile_rows; ++r)
        for (std::uint64_t c = 0; c < grid.tile_cols; ++c)
          field.values[r * grid.tile_cols + c] += tile[r * width + c] / mean;  // bright tiles do not count more
      ++field.tiles;
    }
  if (field.tiles == 0) return Error(ErrorCode::invalid_argument, "every tile is empty");
  const OpCall smooth{"gaussian_filter", fmt::format(R"({{"sigma":[{},{}],"mode":"nearest"}})",
                                                     sigma * static_cast<double>(grid.tile_rows),
                                                     sigma * static_cast<double>(grid.tile_cols))};
  PENSTOCK_ASSIGN(const TensorView view,
                  TensorView::packed(field.values.data(), DType::float64(), {field.rows, field.cols}));
  PENSTOCK_ASSIGN(const Tensor made, apply_operators(std::span(&smooth, 1), view, on_host(options)));
  std::memcpy(field.values.data(), made.view().data, field.values.size() * sizeof(double));
  double mean = 0;
  for (const double v : field.values) mean += v / static_cast<double>(field.values.size());
  for (double& v : field.values) v = std::max(v / mean, kLeast);
  return field;
}

}  // namespace penstock::oct
