// Where on the Earth a raster lies: the fields of GeoTIFF.
#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "core/json.hpp"
#include "format/members.hpp"
#include "format/tiff/crs.hpp"
#include "format/tiff/tiff.hpp"

namespace penstock::tiff {
namespace {

constexpr std::uint64_t kMaxTiepoints = 6 * kMaxControlPoints;

Status expect_finite(const std::vector<double>& numbers, const Directory& directory, const Field& field) {
  for (const double number : numbers)
    if (!std::isfinite(number))
      return metadata::invalid(where(directory, field.tag), "a place on the ground that is not finite");
  return {};
}

/// The numbers of a tag, which may be absent, of which none is NaN or infinite.
Result<std::vector<double>> numbers_of(ByteSource& file, const Directory& directory, Tag tag, std::uint64_t max_count) {
  const Field* const field = directory.find(tag);
  if (field == nullptr) return std::vector<double>();
  PENSTOCK_ASSIGN(std::vector<double> numbers, real_numbers(file, directory, *field, max_count));
  PENSTOCK_TRY(expect_finite(numbers, directory, *field));
  return numbers;
}

}  // namespace

Result<Place> read_place(ByteSource& file, const Directory& directory) {
  PENSTOCK_ASSIGN(const GeoKeys keys, read_geo_keys(file, directory));
  PENSTOCK_ASSIGN(const auto scale, numbers_of(file, directory, Tag::ModelPixelScale, 16));
  PENSTOCK_ASSIGN(const auto ties, numbers_of(file, directory, Tag::ModelTiepoint, kMaxTiepoints));
  PENSTOCK_ASSIGN(const auto matrix, numbers_of(file, directory, Tag::ModelTransformation, 16));
  Place place;
  place.has_keys = !keys.directory.empty();
  place.pixel_is_point = KeyReader(keys).value(Key::GTRasterType) == 2;
  place.crs = crs_of(keys);
  // A place is that of a corner, or of the middle of a pixel.
  const double shift = place.pixel_is_point ? 0.5 : 0;
  if (scale.size() >= 2 && scale[0] != 0 && scale[1] != 0 && ties.size() >= 6) {
    const double down = -std::abs(scale[1]);
    place.transform = {scale[0], 0,    ties[3] - (ties[0] + shift) * scale[0],
                       0,        down, ties[4] - (ties[1] + shift) * down};
  } else if (!matrix.empty()) {
    if (matrix.size() != 16)
      return metadata::invalid(where(directory, static_cast<std::uint16_t>(Tag::ModelTransformation)),
                               "is no matrix of 4 x 4");
    const auto& m = matrix;
    place.transform = {m[0], m[1], m[3] - shift * (m[0] + m[1]), m[4], m[5], m[7] - shift * (m[4] + m[5])};
  } else if (scale.size() >= 2 && ties.size() < 6) {
    return metadata::invalid(where(directory, static_cast<std::uint16_t>(Tag::ModelPixelScale)),
                             "there is no tiepoint for it");
  } else {
    for (std::size_t i = 0; i + 6 <= ties.size(); i += 6)
      place.gcps.push_back({ties[i + 1] + shift, ties[i] + shift, ties[i + 3], ties[i + 4], ties[i + 5]});
  }
  return place;
}

void tell_place(const Place& place, Json& attributes, std::vector<Dimension>& dims) {
  attributes["spatial:dimensions"] = {"y", "x"};
  if (place.crs && place.crs->epsg) attributes["proj:code"] = fmt::format("EPSG:{}", *place.crs->epsg);
  if (!place.transform) return;
  const GeoTransform& t = *place.transform;
  attributes["spatial:transform"] = t;
  if (t[1] != 0 || t[3] != 0) return;  // rows and columns have no coordinates of their own
  dims[2].scale = t[0];
  dims[2].offset = t[2] + t[0] / 2;
  dims[1].scale = t[4];
  dims[1].offset = t[5] + t[4] / 2;
}

}  // namespace penstock::tiff
