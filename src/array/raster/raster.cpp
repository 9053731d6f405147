#include "penstock/raster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "format/raster.hpp"

namespace penstock {

struct Raster::State {
  std::shared_ptr<Store> store;
  std::string path;
  RasterFile file;

  [[nodiscard]] Result<const RasterFile::Level*> level(std::size_t k) const {
    if (k < file.levels.size()) return &file.levels[k];
    return Error(ErrorCode::out_of_range,
                 fmt::format("{}/{}: level {}: the raster has {}", store->url(), path, k, file.levels.size()));
  }
  [[nodiscard]] Result<Array> array_of(const Result<Dataset>& dataset) const {
    if (!dataset) {
      Error error = dataset.error();
      return error.add_context(fmt::format("{}/{}", store->url(), path));
    }
    return Array::with_metadata(store, path, *dataset);
  }
};

namespace {

/// Pixels that a ground position may be off before it is another pixel's: rounding of coordinates, no more.
constexpr double kSlack = 1e-6;

struct Point {
  double x = 0, y = 0;
};
Point ground_of(const GeoTransform& t, double column, double row) {
  return {t[0] * column + t[1] * row + t[2], t[3] * column + t[4] * row + t[5]};
}

/// Ground -> (column, row).
Result<GeoTransform> inverse_of(const GeoTransform& t) {
  const double determinant = t[0] * t[4] - t[1] * t[3];
  if (determinant == 0 || !std::isfinite(1 / determinant))
    return Error(ErrorCode::invalid_argument, "the raster's transform has no inverse");
  const double a = t[4] / determinant, b = -t[1] / determinant, d = -t[3] / determinant, e = t[0] / determinant;
  return GeoTransform{a, b, -a * t[2] - b * t[5], d, e, -d * t[2] - e * t[5]};
}

GroundBounds box_of(const std::array<Point, 4>& corners) {
  const auto [left, right] = std::ranges::minmax(corners, {}, &Point::x);
  const auto [bottom, top] = std::ranges::minmax(corners, {}, &Point::y);
  return {left.x, bottom.y, right.x, top.y};
}

/// The pixels of a dimension that [first, last] touches, as first and count.  nullopt: none.
std::optional<std::pair<std::uint64_t, std::uint64_t>> pixels(double first, double last, std::uint64_t extent) {
  const double begin = std::max(std::floor(first + kSlack), 0.0);
  const double end = std::min(std::ceil(last - kSlack), static_cast<double>(extent));
  if (!(begin < end)) return std::nullopt;
  const auto from = static_cast<std::uint64_t>(begin);
  return std::pair(from, static_cast<std::uint64_t>(end) - from);
}

}  // namespace

bool is_raster(const Dataset& dataset) { return has_rasters(dataset.format); }

Result<Raster> Raster::open(std::shared_ptr<Store> store, std::string_view path) {
  auto state = std::make_shared<State>(State{std::move(store), std::string(path), {}});
  PENSTOCK_ASSIGN(state->file, read_raster(*state->store, path));
  Raster raster;
  raster.state_ = std::move(state);
  return raster;
}

Result<Raster> Raster::open(const std::string& url, const StoreOptions& options) {
  PENSTOCK_ASSIGN(const Node node, penstock::open(url, StoreMode::read, options));
  const auto* const array = std::get_if<Array>(&node);
  if (array == nullptr || !is_raster(array->dataset()))
    return Error(ErrorCode::unsupported, fmt::format("{}: is no raster file", url))
        .set_hint("Rasters are TIFF files; `penstock info` says what this is.");
  return open(array->store_ptr(), array->path());
}

const RasterInfo& Raster::info() const { return state_->file.info; }
std::size_t Raster::level_count() const { return state_->file.levels.size(); }

Result<Array> Raster::level(std::size_t level) const {
  PENSTOCK_ASSIGN(const RasterFile::Level* const found, state_->level(level));
  return state_->array_of(found->dataset);
}

Result<std::optional<Array>> Raster::mask(std::size_t level) const {
  PENSTOCK_ASSIGN(const RasterFile::Level* const found, state_->level(level));
  if (!found->mask) return std::optional<Array>();
  PENSTOCK_ASSIGN(Array array, state_->array_of(*found->mask));
  return std::optional(std::move(array));
}

Result<std::optional<GeoTransform>> Raster::transform(std::size_t level) const {
  PENSTOCK_ASSIGN(const RasterFile::Level* const found, state_->level(level));
  std::optional<GeoTransform> transform = info().transform;
  if (!transform) return transform;
  const Shape& full = state_->file.levels.front().shape;
  const double x = static_cast<double>(full[2]) / static_cast<double>(found->shape[2]);
  const double y = static_cast<double>(full[1]) / static_cast<double>(found->shape[1]);
  GeoTransform& t = *transform;
  t = {t[0] * x, t[1] * y, t[2], t[3] * x, t[4] * y, t[5]};
  return transform;
}

std::optional<GroundBounds> Raster::bounds() const {
  if (!info().transform) return std::nullopt;
  const GeoTransform& t = *info().transform;
  const auto height = static_cast<double>(state_->file.levels.front().shape[1]);
  const auto width = static_cast<double>(state_->file.levels.front().shape[2]);
  return box_of({ground_of(t, 0, 0), ground_of(t, width, 0), ground_of(t, 0, height), ground_of(t, width, height)});
}

Result<std::size_t> Raster::level_for(double resolution) const {
  if (!std::isfinite(resolution) || resolution <= 0)
    return Error(ErrorCode::invalid_argument, fmt::format("a resolution of {}: it must be positive", resolution));
  const Shape& full = state_->file.levels.front().shape;
  const GeoTransform image = info().transform.value_or(GeoTransform{1, 0, 0, 0, 1, 0});
  std::size_t best = 0;
  for (std::size_t k = 1; k < level_count(); ++k) {
    const Shape& shape = state_->file.levels[k].shape;
    const double x = static_cast<double>(full[2]) / static_cast<double>(shape[2]);
    const double y = static_cast<double>(full[1]) / static_cast<double>(shape[1]);
    const double width = std::hypot(image[0], image[3]) * x, height = std::hypot(image[1], image[4]) * y;
    if (std::max(width, height) <= resolution * (1 + kSlack)) best = k;
  }
  return best;
}

Result<Region> Raster::window(const GroundBounds& bounds, std::size_t level) const {
  PENSTOCK_ASSIGN(const RasterFile::Level* const found, state_->level(level));
  PENSTOCK_ASSIGN(const std::optional<GeoTransform> transform, this->transform(level));
  if (!transform)
    return Error(ErrorCode::invalid_argument, "the raster has no transform: places on the ground have no pixels");
  const double all = bounds.left + bounds.bottom + bounds.right + bounds.top;
  if (!std::isfinite(all) || bounds.left > bounds.right || bounds.bottom > bounds.top)
    return Error(ErrorCode::invalid_argument,
                 fmt::format("ground bounds {}, {}, {}, {}: left, bottom, right, top are wanted, in this order",
                             bounds.left, bounds.bottom, bounds.right, bounds.top));
  PENSTOCK_ASSIGN(const GeoTransform inverse, inverse_of(*transform));
  const GroundBounds box =
      box_of({ground_of(inverse, bounds.left, bounds.bottom), ground_of(inverse, bounds.right, bounds.bottom),
              ground_of(inverse, bounds.left, bounds.top), ground_of(inverse, bounds.right, bounds.top)});
  const auto columns = pixels(box.left, box.right, found->shape[2]);
  const auto rows = pixels(box.bottom, box.top, found->shape[1]);
  if (!columns || !rows)
    return Error(ErrorCode::invalid_argument,
                 fmt::format("nothing of the ground bounds {}, {}, {}, {} lies in the raster", bounds.left,
                             bounds.bottom, bounds.right, bounds.top));
  return Region{{0, found->shape[0]}, {rows->first, rows->second}, {columns->first, columns->second}};
}

}  // namespace penstock
