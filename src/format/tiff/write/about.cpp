// What a raster file says besides its elements, as fields of TIFF.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/json.hpp"
#include "core/json_text.hpp"
#include "format/tiff/write/cog.hpp"
#include "penstock/fill.hpp"

namespace penstock::tiff {
namespace {

std::string escaped_once(std::string_view text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  return out;
}

/// As GDAL does: once more than XML asks for.
std::string escaped(std::string_view text) { return escaped_once(escaped_once(text)); }

/// Names that GDAL keeps in fields of their own.
bool has_own_field(std::string_view name) { return name == "AREA_OR_POINT" || name.starts_with("TIFFTAG_"); }

}  // namespace

Result<GeoKeys> make_geo_keys(const RasterInfo& info) {
  constexpr std::uint16_t kAsciiParams = 34737, kUserDefined = 32767;
  if (!info.crs && !info.pixel_is_point) return GeoKeys{};
  std::vector<std::array<std::uint16_t, 4>> keys;
  GeoKeys out;
  std::optional<std::uint16_t> model;
  if (info.crs && info.crs->epsg) {
    model = model_type_of_epsg(*info.crs->epsg);
    if (!model)
      return Error(ErrorCode::unsupported, fmt::format("a CRS of EPSG:{} cannot be written", *info.crs->epsg));
    keys.push_back({1024, 0, 1, *model});
  }
  keys.push_back({1025, 0, 1, static_cast<std::uint16_t>(info.pixel_is_point ? 2 : 1)});
  if (info.crs && !info.crs->name.empty()) {
    out.texts = info.crs->name.substr(0, 1024) + "|";
    keys.push_back({1026, kAsciiParams, static_cast<std::uint16_t>(out.texts.size()), 0});
  }
  if (model)
    keys.push_back(
        {static_cast<std::uint16_t>(*model == 1 ? 3072 : 2048), 0, 1, static_cast<std::uint16_t>(*info.crs->epsg)});
  if (info.crs && info.crs->vertical_epsg && *info.crs->vertical_epsg < kUserDefined)
    keys.push_back({4096, 0, 1, static_cast<std::uint16_t>(*info.crs->vertical_epsg)});
  out.directory = {1, 1, 1, static_cast<std::uint16_t>(keys.size())};
  for (const auto& key : keys) out.directory.insert(out.directory.end(), key.begin(), key.end());
  return out;
}

std::string make_gdal_metadata(const RasterInfo& info) {
  std::string items;
  for (const auto& [name, value] : info.tags)
    if (!has_own_field(name))
      items += fmt::format("  <Item name=\"{}\">{}</Item>\n", escaped_once(name), escaped(value));
  for (std::size_t i = 0; i < info.bands.size(); ++i) {
    const BandInfo& band = info.bands[i];
    const auto add = [&](std::string_view name, std::string_view role, std::string_view value) {
      items += fmt::format("  <Item name=\"{}\" sample=\"{}\"{}>{}</Item>\n", escaped_once(name), i,
                           role.empty() ? "" : fmt::format(" role=\"{}\"", role), escaped(value));
    };
    for (const auto& [name, value] : band.tags) add(name, "", value);
    if (!band.description.empty()) add("DESCRIPTION", "description", band.description);
    if (band.offset != 0) add("OFFSET", "offset", fmt::format("{}", band.offset));
    if (band.scale != 1) add("SCALE", "scale", fmt::format("{}", band.scale));
    if (!band.unit.empty()) add("UNITTYPE", "unittype", band.unit);
  }
  return items.empty() ? "" : "<GDALMetadata>\n" + items + "</GDALMetadata>\n";
}

Result<std::string> make_nodata_text(const Dataset& dataset) {
  if (!dataset.nodata) return std::string();
  PENSTOCK_ASSIGN(const std::string json, fill_to_json(dataset.dtype, *dataset.nodata));
  PENSTOCK_ASSIGN(const Json value, parse_json(json));
  if (value.is_number()) return json;
  if (is_text(value, "NaN")) return std::string("nan");
  if (is_text(value, "Infinity")) return std::string("inf");
  if (is_text(value, "-Infinity")) return std::string("-inf");
  if (dataset.dtype.kind == Kind::floating) return std::string("nan");  // a NaN of other bits, as hexadecimal digits
  return Error(ErrorCode::unsupported, fmt::format("nodata {}: a TIFF keeps numbers only", json));
}

}  // namespace penstock::tiff
