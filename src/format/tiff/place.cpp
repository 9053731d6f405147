// Where on the Earth a raster lies: the fields of GeoTIFF.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "core/json.hpp"
#include "format/members.hpp"
#include "format/tiff/tiff.hpp"

namespace penstock::tiff {
namespace {

constexpr std::uint64_t kMaxKeys = 4 * 1024, kMaxTiepoints = 6 * 65536, kMaxText = 65536;

/// Numbers of keys.
enum Key : std::uint16_t {
  kModelType = 1024,
  kRasterType = 1025,
  kCitation = 1026,
  kGeodetic = 2048,
  kGeodeticCitation = 2049,
  kProjected = 3072,
  kProjectedCitation = 3073,
  kVertical = 4096,
};

/// Codes are EPSG's in this range; 32767 is "defined by the user", what is above is private.
std::optional<std::uint32_t> epsg_code(std::uint64_t value) {
  if (value < 1024 || value > 32766) return std::nullopt;
  return static_cast<std::uint32_t>(value);
}

/// The directory of keys: their short values, and where their texts lie.
class Keys {
 public:
  static Result<Keys> read(ByteSource& file, const Directory& directory) {
    Keys keys;
    const Field* const field = directory.find(Tag::GeoKeyDirectory);
    if (field == nullptr) return keys;
    PENSTOCK_ASSIGN(keys.numbers_, whole_numbers(file, directory, *field, kMaxKeys));
    if (keys.numbers_.size() < 4 || keys.numbers_[3] > (keys.numbers_.size() - 4) / 4)
      return metadata::invalid(where(directory, field->tag), "says more keys than it holds");
    if (const Field* const texts = directory.find(Tag::GeoAsciiParams); texts != nullptr) {
      PENSTOCK_ASSIGN(keys.texts_, ascii(file, *texts, kMaxText));
      for (char& c : keys.texts_)  // the specification asks for ASCII, and places in it are counted in bytes
        if (static_cast<unsigned char>(c) >= 0x80) c = '?';
    }
    if (const Field* const doubles = directory.find(Tag::GeoDoubleParams); doubles != nullptr) {
      PENSTOCK_ASSIGN(keys.doubles_, real_numbers(file, directory, *doubles, kMaxKeys));
    }
    return keys;
  }
  /// As they stand in the file; without what lies behind the last one.
  [[nodiscard]] GeoKeys as_they_are() const {
    GeoKeys keys{{}, doubles_, texts_};
    for (std::size_t i = 0; i < 4 + 4 * numbers_[3]; ++i)
      keys.directory.push_back(static_cast<std::uint16_t>(std::min<std::uint64_t>(numbers_[i], 0xFFFF)));
    return keys;
  }
  [[nodiscard]] bool empty() const { return numbers_.empty(); }
  [[nodiscard]] std::optional<std::uint64_t> value(std::uint64_t key) const {
    const std::uint64_t* const entry = find(key);
    return entry != nullptr && entry[1] == 0 ? std::optional(entry[3]) : std::nullopt;
  }
  /// Whether there is more than how coordinates are meant: a system by its parameters or by its text.
  [[nodiscard]] bool define_a_system() const {
    for (std::size_t i = 1; !empty() && i <= numbers_[3]; ++i)
      if (numbers_[4 * i] == kCitation || numbers_[4 * i] >= kGeodetic) return true;
    return false;
  }
  /// Without the bar that ends it; empty: none.
  [[nodiscard]] std::string citation(std::uint64_t key) const {
    const std::uint64_t* const entry = find(key);
    if (entry == nullptr || entry[1] != static_cast<std::uint64_t>(Tag::GeoAsciiParams) || entry[3] > texts_.size())
      return "";
    std::string out = texts_.substr(entry[3], entry[2]);
    while (out.ends_with('|') || out.ends_with(' ')) out.pop_back();
    return out;
  }

 private:
  [[nodiscard]] const std::uint64_t* find(std::uint64_t key) const {
    for (std::size_t i = 1; !empty() && i <= numbers_[3]; ++i)
      if (numbers_[4 * i] == key) return &numbers_[4 * i];
    return nullptr;
  }
  std::vector<std::uint64_t> numbers_;
  std::vector<double> doubles_;
  std::string texts_;
};

std::optional<Crs> crs_of(const Keys& keys) {
  const std::uint64_t projected = keys.value(kProjected).value_or(0), geodetic = keys.value(kGeodetic).value_or(0);
  if (projected == 0 && geodetic == 0 && !keys.define_a_system()) return std::nullopt;
  Crs crs;
  const bool is_projected = projected != 0 || keys.value(kModelType) == 1;
  crs.epsg = epsg_code(is_projected ? projected : geodetic);
  crs.vertical_epsg = epsg_code(keys.value(kVertical).value_or(0));
  for (const Key key : {is_projected ? kProjectedCitation : kGeodeticCitation, kCitation, kGeodeticCitation})
    if (crs.name.empty()) crs.name = keys.citation(key);
  if (!crs.epsg) crs.keys = keys.as_they_are();
  return crs;
}

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
  PENSTOCK_ASSIGN(const Keys keys, Keys::read(file, directory));
  PENSTOCK_ASSIGN(const auto scale, numbers_of(file, directory, Tag::ModelPixelScale, 16));
  PENSTOCK_ASSIGN(const auto ties, numbers_of(file, directory, Tag::ModelTiepoint, kMaxTiepoints));
  PENSTOCK_ASSIGN(const auto matrix, numbers_of(file, directory, Tag::ModelTransformation, 16));
  Place place;
  place.has_keys = !keys.empty();
  place.pixel_is_point = keys.value(kRasterType) == 2;
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
