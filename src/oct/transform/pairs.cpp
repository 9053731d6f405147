#include "oct/transform/pairs.hpp"

#include <algorithm>
#include <cmath>

#include "penstock/ops.hpp"

namespace penstock::oct {
namespace {

constexpr double kBright = 99.9;     // percentile of a projection that is tissue still
constexpr double kSaturated = 3;     // times that: no tissue is so bright
constexpr double kLeastScore = 0.3;  // correlation of an overlap that counts

/// Whether so many of an image's pixels are not above a threshold that nothing is to be seen.
bool is_empty(const Image& image, double threshold, double max_fraction) {
  const auto low = std::ranges::count_if(image.values, [&](float v) { return !(v > threshold); });
  return static_cast<double>(low) > max_fraction * static_cast<double>(image.values.size());
}

Image part(const Image& image, std::uint64_t row, std::uint64_t col, std::uint64_t rows, std::uint64_t cols) {
  Image out{rows, cols, {}};
  out.values.reserve(rows * cols);
  for (std::uint64_t r = 0; r < rows; ++r)
    for (std::uint64_t c = 0; c < cols; ++c) out.values.push_back(image.at(row + r, col + c));
  return out;
}

Result<double> otsu_of(const Image& image, const Options& options) {
  StatisticsRequest request;
  request.otsu = true;
  auto* const data = const_cast<float*>(image.values.data());
  PENSTOCK_ASSIGN(const TensorView view, TensorView::packed(data, DType::float32(), {image.values.size()}));
  PENSTOCK_ASSIGN(const Statistics made, statistics(view, request, options));
  return made.otsu.value_or(0);
}

}  // namespace

Result<Image> without_saturated(const Image& projection, const Options& options) {
  std::vector<float> there;
  for (const float v : projection.values)
    if (v > 0 && std::isfinite(v)) there.push_back(v);
  if (there.empty()) return projection;
  StatisticsRequest request;
  request.percentiles = {kBright};
  request.summary = false;
  PENSTOCK_ASSIGN(const TensorView view, TensorView::packed(there.data(), DType::float32(), {there.size()}));
  PENSTOCK_ASSIGN(const Statistics made, statistics(view, request, options));
  const auto limit = static_cast<float>(kSaturated * made.percentiles[0]);
  Image clean = projection;
  for (float& v : clean.values)
    if (!(v <= limit)) v = 0;
  return clean;
}

Image tile_of(const Image& projection, const TileGrid& grid, std::uint64_t i, std::uint64_t j) {
  return part(projection, i * grid.tile_rows, j * grid.tile_cols, grid.tile_rows, grid.tile_cols);
}

namespace {

/// The tiles of a projection, which lies at `values`.
std::vector<transform::ImageView> views_of_tiles(const float* values, const Image& projection, const TileGrid& grid) {
  std::vector<transform::ImageView> views;
  for (std::uint64_t k = 0; k < grid.count(); ++k) {
    const std::uint64_t row = k / grid.cols * grid.tile_rows, col = k % grid.cols * grid.tile_cols;
    views.push_back({values + row * projection.cols + col, grid.tile_rows, grid.tile_cols, projection.cols});
  }
  return views;
}

/// The neighbours along one axis of the grid whose overlaps show anything, each with where it lies about.
std::vector<ImagePair> neighbours(const Image& projection, const TileGrid& grid, bool down, const PairOptions& how,
                                  double threshold, Pairs& pairs) {
  const std::uint64_t side = down ? grid.tile_rows : grid.tile_cols;
  const auto step = static_cast<std::uint64_t>(static_cast<double>(side) * (1 - how.overlap));
  const Offset guess{down ? static_cast<double>(step) : 0, down ? 0 : static_cast<double>(step), 0};
  std::vector<ImagePair> found;
  for (std::uint64_t k = 0; k < grid.count(); ++k) {
    const std::uint64_t i = k / grid.cols, j = k % grid.cols;
    if (down ? i + 1 == grid.rows : j + 1 == grid.cols) continue;
    const std::uint64_t row = i * grid.tile_rows, col = j * grid.tile_cols;
    const std::uint64_t rows = grid.tile_rows - (down ? step : 0), cols = grid.tile_cols - (down ? 0 : step);
    const Image end = part(projection, row + (down ? step : 0), col + (down ? 0 : step), rows, cols);
    const Image begin =
        part(projection, row + (down ? grid.tile_rows : 0), col + (down ? 0 : grid.tile_cols), rows, cols);
    ++pairs.looked;
    if (is_empty(end, threshold, how.max_empty_fraction) || is_empty(begin, threshold, how.max_empty_fraction))
      ++pairs.empty;
    else
      found.push_back({k, k + (down ? grid.cols : 1), guess});
  }
  return found;
}

}  // namespace

Result<Pairs> find_pairs(const Image& measured, const TileGrid& grid, const PairOptions& how, const Options& options,
                         Device device) {
  if (!(how.overlap > 0) || !(how.overlap < 1))
    return Error(ErrorCode::invalid_argument, "initial_overlap must lie between 0 and 1");
  PENSTOCK_ASSIGN(const Image projection, without_saturated(measured, options));
  PENSTOCK_ASSIGN(const double threshold, otsu_of(projection, options));
  Pairs pairs;
  const auto look = [&](const Tools& tools) -> Status {
    Numbers<float> there;
    if (tools.work.on_device()) {
      PENSTOCK_ASSIGN(there, Numbers<float>::make(projection.values, tools.work));
    }
    const float* const values = tools.work.on_device() ? there.at() : projection.values.data();
    const std::vector<transform::ImageView> tiles = views_of_tiles(values, projection, grid);
    for (const bool down : {true, false}) {
      PENSTOCK_TRY(options.stop().check("oct pairs"));
      const std::vector<ImagePair> looked = neighbours(projection, grid, down, how, threshold, pairs);
      const std::uint64_t reach = std::max<std::uint64_t>((down ? grid.tile_rows : grid.tile_cols) / 10, 4);
      PENSTOCK_ASSIGN(const auto offsets, find_offsets(tiles, looked, reach, tools.work));
      for (std::size_t k = 0; k < looked.size(); ++k)
        if (offsets[k] && offsets[k]->score >= kLeastScore)
          pairs.found.push_back({looked[k].fixed / grid.cols, looked[k].fixed % grid.cols, down, *offsets[k]});
    }
    return {};
  };
  PENSTOCK_TRY(with_tools(device, "oct pairs", options, look));
  return pairs;
}

}  // namespace penstock::oct
