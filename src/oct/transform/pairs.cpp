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

Result<Pairs> find_pairs(const Image& measured, const TileGrid& grid, const PairOptions& how, const Options& options) {
  if (!(how.overlap > 0) || !(how.overlap < 1))
    return Error(ErrorCode::invalid_argument, "initial_overlap must lie between 0 and 1");
  PENSTOCK_ASSIGN(const Image projection, without_saturated(measured, options));
  PENSTOCK_ASSIGN(const double threshold, otsu_of(projection, options));
  Pairs pairs;
  for (std::uint64_t k = 0; k < 2 * grid.count(); ++k) {
    PENSTOCK_TRY(options.stop().check("oct pairs"));
    const bool down = k % 2 == 0;
    const std::uint64_t i = k / 2 / grid.cols, j = k / 2 % grid.cols;
    if (down ? i + 1 == grid.rows : j + 1 == grid.cols) continue;
    const Image a = tile_of(projection, grid, i, j),
                b = tile_of(projection, grid, i + (down ? 1 : 0), j + (down ? 0 : 1));
    const std::uint64_t side = down ? grid.tile_rows : grid.tile_cols;
    const auto step = static_cast<std::uint64_t>(static_cast<double>(side) * (1 - how.overlap));
    const std::uint64_t shared = side - step;
    const Image end = down ? part(a, step, 0, shared, a.cols) : part(a, 0, step, a.rows, shared);
    const Image begin = down ? part(b, 0, 0, shared, b.cols) : part(b, 0, 0, b.rows, shared);
    ++pairs.looked;
    if (is_empty(end, threshold, how.max_empty_fraction) || is_empty(begin, threshold, how.max_empty_fraction)) {
      ++pairs.empty;
      continue;
    }
    const Offset guess{down ? static_cast<double>(step) : 0, down ? 0 : static_cast<double>(step), 0};
    const auto offset = find_offset(a, b, guess, std::max<std::uint64_t>(side / 10, 4));
    if (offset && offset->score >= kLeastScore) pairs.found.push_back({i, j, down, *offset});
  }
  return pairs;
}

}  // namespace penstock::oct
