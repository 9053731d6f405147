#include "format/tiff/geo_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "format/members.hpp"

namespace penstock::tiff {
namespace {

std::string_view name_of(Key key) {
  switch (key) {
    case Key::GTModelType: return "GTModelType";
    case Key::GTRasterType: return "GTRasterType";
    case Key::GTCitation: return "GTCitation";
    case Key::GeodeticCRS: return "GeodeticCRS";
    case Key::GeodeticCitation: return "GeodeticCitation";
    case Key::GeodeticDatum: return "GeodeticDatum";
    case Key::PrimeMeridian: return "PrimeMeridian";
    case Key::GeogLinearUnits: return "GeogLinearUnits";
    case Key::GeogLinearUnitSize: return "GeogLinearUnitSize";
    case Key::GeogAngularUnits: return "GeogAngularUnits";
    case Key::GeogAngularUnitSize: return "GeogAngularUnitSize";
    case Key::Ellipsoid: return "Ellipsoid";
    case Key::EllipsoidSemiMajorAxis: return "EllipsoidSemiMajorAxis";
    case Key::EllipsoidSemiMinorAxis: return "EllipsoidSemiMinorAxis";
    case Key::EllipsoidInvFlattening: return "EllipsoidInvFlattening";
    case Key::PrimeMeridianLongitude: return "PrimeMeridianLongitude";
    case Key::GeogTOWGS84: return "GeogTOWGS84";
    case Key::ProjectedCRS: return "ProjectedCRS";
    case Key::ProjectedCitation: return "ProjectedCitation";
    case Key::Projection: return "Projection";
    case Key::ProjMethod: return "ProjMethod";
    case Key::ProjLinearUnits: return "ProjLinearUnits";
    case Key::ProjLinearUnitSize: return "ProjLinearUnitSize";
    case Key::ProjStdParallel1: return "ProjStdParallel1";
    case Key::ProjStdParallel2: return "ProjStdParallel2";
    case Key::ProjNatOriginLong: return "ProjNatOriginLong";
    case Key::ProjNatOriginLat: return "ProjNatOriginLat";
    case Key::ProjFalseEasting: return "ProjFalseEasting";
    case Key::ProjFalseNorthing: return "ProjFalseNorthing";
    case Key::ProjFalseOriginLong: return "ProjFalseOriginLong";
    case Key::ProjFalseOriginLat: return "ProjFalseOriginLat";
    case Key::ProjFalseOriginEasting: return "ProjFalseOriginEasting";
    case Key::ProjFalseOriginNorthing: return "ProjFalseOriginNorthing";
    case Key::ProjCenterLong: return "ProjCenterLong";
    case Key::ProjCenterLat: return "ProjCenterLat";
    case Key::ProjCenterEasting: return "ProjCenterEasting";
    case Key::ProjCenterNorthing: return "ProjCenterNorthing";
    case Key::ProjScaleAtNatOrigin: return "ProjScaleAtNatOrigin";
    case Key::ProjScaleAtCenter: return "ProjScaleAtCenter";
    case Key::ProjAzimuthAngle: return "ProjAzimuthAngle";
    case Key::ProjStraightVertPoleLong: return "ProjStraightVertPoleLong";
    case Key::ProjRectifiedGridAngle: return "ProjRectifiedGridAngle";
    case Key::Vertical: return "Vertical";
    case Key::VerticalCitation: return "VerticalCitation";
    case Key::VerticalDatum: return "VerticalDatum";
    case Key::VerticalUnits: return "VerticalUnits";
  }
  return "";
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == '|' || text.back() == ' ')) text.remove_suffix(1);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  return text;
}

}  // namespace

std::string where(Key key) {
  const std::string_view name = name_of(key);
  const auto number = static_cast<std::uint16_t>(key);
  return name.empty() ? fmt::format("key {}", number) : fmt::format("key {} ({})", number, name);
}

std::optional<std::uint32_t> epsg_code(std::optional<std::uint64_t> value) {
  if (!value || *value < 1024 || *value > 32766) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

Result<GeoKeys> read_geo_keys(ByteSource& file, const Directory& directory) {
  GeoKeys keys;
  const Field* const field = directory.find(Tag::GeoKeyDirectory);
  if (field == nullptr) return keys;
  PENSTOCK_ASSIGN(const auto numbers, whole_numbers(file, directory, *field, kMaxGeoNumbers));
  if (numbers.size() < 4 || numbers[3] > (numbers.size() - 4) / 4)
    return metadata::invalid(where(directory, field->tag), "says more keys than it holds");
  for (std::size_t i = 0; i < 4 + 4 * numbers[3]; ++i)  // without what lies behind the last one
    keys.directory.push_back(static_cast<std::uint16_t>(std::min<std::uint64_t>(numbers[i], 0xFFFF)));
  if (const Field* const texts = directory.find(Tag::GeoAsciiParams); texts != nullptr) {
    PENSTOCK_ASSIGN(keys.texts, ascii(file, *texts, kMaxGeoText));
    for (char& c : keys.texts)  // the specification asks for ASCII, and places in it are counted in bytes
      if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
  if (const Field* const doubles = directory.find(Tag::GeoDoubleParams); doubles != nullptr) {
    PENSTOCK_ASSIGN(keys.numbers, real_numbers(file, directory, *doubles, kMaxGeoNumbers));
  }
  return keys;
}

const std::uint16_t* KeyReader::find(Key key) const {
  const std::vector<std::uint16_t>& all = keys_.directory;
  for (std::size_t at = 4; at + 4 <= all.size(); at += 4)
    if (all[at] == static_cast<std::uint16_t>(key)) return &all[at];
  return nullptr;
}

std::optional<std::uint16_t> KeyReader::value(Key key) const {
  const std::uint16_t* const entry = find(key);
  return entry != nullptr && entry[1] == 0 ? std::optional(entry[3]) : std::nullopt;
}

Result<std::vector<double>> KeyReader::numbers(Key key) const {
  const std::uint16_t* const entry = find(key);
  if (entry == nullptr) return std::vector<double>();
  const std::size_t count = entry[2], first = entry[3];
  if (entry[1] != static_cast<std::uint16_t>(Tag::GeoDoubleParams))
    return metadata::invalid(where(key), "a number is wanted, which GeoDoubleParams hold");
  if (first > keys_.numbers.size() || count > keys_.numbers.size() - first)
    return metadata::invalid(where(key), fmt::format("{} numbers from place {} on, where GeoDoubleParams hold {}",
                                                     count, first, keys_.numbers.size()));
  const auto begin = keys_.numbers.begin() + static_cast<std::ptrdiff_t>(first);
  std::vector<double> out(begin, begin + static_cast<std::ptrdiff_t>(count));
  for (const double number : out)
    if (!std::isfinite(number)) return metadata::invalid(where(key), fmt::format("{} is no finite number", number));
  return out;
}

Result<std::optional<double>> KeyReader::number(Key key) const {
  if (!has(key)) return std::optional<double>();
  PENSTOCK_ASSIGN(const std::vector<double> all, numbers(key));
  if (all.empty()) return metadata::invalid(where(key), "no number, where one is wanted");
  return std::optional(all.front());
}

std::string KeyReader::citation(Key key) const {
  const std::uint16_t* const entry = find(key);
  if (entry == nullptr || entry[1] != static_cast<std::uint16_t>(Tag::GeoAsciiParams) || entry[3] > keys_.texts.size())
    return "";
  return std::string(trimmed(std::string_view(keys_.texts).substr(entry[3], entry[2])));
}

std::string KeyReader::part_of_citation(Key key, std::string_view name) const {
  const std::string all = citation(key);
  for (std::string_view rest = all; !rest.empty();) {
    const std::size_t end = std::min(rest.find('|'), rest.size());
    const std::string_view part = trimmed(rest.substr(0, end));
    const std::size_t sign = part.find(" = ");
    if (sign != std::string_view::npos && part.substr(0, sign) == name)
      return std::string(trimmed(part.substr(sign + 3)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return "";
}

std::string in_ascii(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7F) c = '?';
  return out;
}

void KeyMaker::numbers(Key key, const std::vector<double>& values) {
  rows_.push_back({number_of(key), static_cast<std::uint16_t>(Tag::GeoDoubleParams),
                   static_cast<std::uint16_t>(values.size()), static_cast<std::uint16_t>(keys_.numbers.size())});
  keys_.numbers.insert(keys_.numbers.end(), values.begin(), values.end());
}

void KeyMaker::text(Key key, std::string_view value) {
  rows_.push_back({number_of(key), static_cast<std::uint16_t>(Tag::GeoAsciiParams),
                   static_cast<std::uint16_t>(value.size() + 1), static_cast<std::uint16_t>(keys_.texts.size())});
  keys_.texts += in_ascii(value) + '|';
}

Result<GeoKeys> KeyMaker::make() && {
  if (keys_.texts.size() >= kMaxGeoText)  // places in it have 16 bits
    return Error(ErrorCode::unsupported,
                 fmt::format("keys of GeoTIFF hold {} bytes of text, not {}", kMaxGeoText - 1, keys_.texts.size()));
  std::ranges::stable_sort(rows_, {}, [](const auto& row) { return row[0]; });
  keys_.directory = {1, 1, 0, static_cast<std::uint16_t>(rows_.size())};
  for (const auto& row : rows_) keys_.directory.insert(keys_.directory.end(), row.begin(), row.end());
  return std::move(keys_);
}

bool KeyReader::define_a_system() const {
  for (std::size_t at = 4; at + 4 <= keys_.directory.size(); at += 4)
    if (keys_.directory[at] == static_cast<std::uint16_t>(Key::GTCitation) ||
        keys_.directory[at] >= static_cast<std::uint16_t>(Key::GeodeticCRS))
      return true;
  return false;
}

}  // namespace penstock::tiff
