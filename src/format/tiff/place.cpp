// Where on the Earth a raster lies: the fields of GeoTIFF.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <optional>

#include "core/json.hpp"
#include "format/members.hpp"
#include "format/tiff/tiff.hpp"

namespace penstock::tiff {
namespace {

constexpr std::uint64_t kMaxKeys = 4 * 1024, kMaxTiepoints = 6 * 65536;

/// Six numbers in the order of rasterio: x = a column + b row + c, y = d column + e row + f, at a pixel's corner.
using Transform = std::array<double, 6>;

/// Keys whose value stands in the directory itself.
struct Keys {
  bool pixel_is_point = false;
  std::optional<std::uint64_t> epsg;
};

Result<Keys> read_keys(ByteSource& file, const Directory& directory) {
  constexpr std::uint64_t kRasterType = 1025, kGeodetic = 2048, kProjected = 3072, kUserDefined = 32767;
  Keys keys;
  const Field* const field = directory.find(Tag::GeoKeyDirectory);
  if (field == nullptr) return keys;
  PENSTOCK_ASSIGN(const auto numbers, whole_numbers(file, directory, *field, kMaxKeys));
  if (numbers.size() < 4 || numbers[3] > (numbers.size() - 4) / 4)
    return metadata::invalid(where(directory, field->tag), "says more keys than it holds");
  std::optional<std::uint64_t> geodetic, projected;
  for (std::uint64_t i = 1; i <= numbers[3]; ++i) {
    const std::uint64_t key = numbers[4 * i], location = numbers[4 * i + 1], value = numbers[4 * i + 3];
    if (location != 0) continue;
    if (key == kRasterType) keys.pixel_is_point = value == 2;
    if (key == kGeodetic && value < kUserDefined) geodetic = value;
    if (key == kProjected && value < kUserDefined) projected = value;
  }
  keys.epsg = projected ? projected : geodetic;
  return keys;
}

Result<std::optional<Transform>> read_transform(ByteSource& file, const Directory& directory) {
  const Field* const matrix = directory.find(Tag::ModelTransformation);
  if (matrix != nullptr) {
    PENSTOCK_ASSIGN(const auto m, real_numbers(file, directory, *matrix, 16));
    if (m.size() != 16) return metadata::invalid(where(directory, matrix->tag), "is no matrix of 4 x 4");
    return std::optional(Transform{m[0], m[1], m[3], m[4], m[5], m[7]});
  }
  const Field* const scale = directory.find(Tag::ModelPixelScale);
  const Field* const tie = directory.find(Tag::ModelTiepoint);
  if (scale == nullptr || tie == nullptr) return std::optional<Transform>();
  PENSTOCK_ASSIGN(const auto s, real_numbers(file, directory, *scale, 16));
  PENSTOCK_ASSIGN(const auto t, real_numbers(file, directory, *tie, kMaxTiepoints));
  if (s.size() < 2 || t.size() < 6)
    return metadata::invalid(where(directory, s.size() < 2 ? scale->tag : tie->tag), "too few numbers");
  return std::optional(Transform{s[0], 0, t[3] - t[0] * s[0], 0, -s[1], t[4] + t[1] * s[1]});
}

}  // namespace

Status add_place(ByteSource& file, const Directory& directory, Dataset& dataset) {
  PENSTOCK_ASSIGN(const Keys keys, read_keys(file, directory));
  PENSTOCK_ASSIGN(std::optional<Transform> transform, read_transform(file, directory));
  PENSTOCK_ASSIGN(Json attributes, parse_json(dataset.attributes));
  attributes["spatial:dimensions"] = {"y", "x"};
  if (keys.epsg) attributes["proj:code"] = fmt::format("EPSG:{}", *keys.epsg);
  if (transform) {
    Transform& t = *transform;
    for (const double value : t)
      if (!std::isfinite(value))
        return metadata::invalid(where(directory, 33550), "the transformation to the ground is not finite");
    if (keys.pixel_is_point) {  // the place is that of the middle of the first pixel
      t[2] -= (t[0] + t[1]) / 2;
      t[5] -= (t[3] + t[4]) / 2;
    }
    attributes["spatial:transform"] = t;
    if (t[1] == 0 && t[3] == 0) {
      dataset.dims[2].scale = t[0];
      dataset.dims[2].offset = t[2] + t[0] / 2;
      dataset.dims[1].scale = t[4];
      dataset.dims[1].offset = t[5] + t[4] / 2;
    }
  }
  dataset.attributes = dump_json(attributes);
  return {};
}

}  // namespace penstock::tiff
