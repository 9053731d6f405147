// What a raster file says besides its elements, as fields of TIFF.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/html.hpp"
#include "core/json.hpp"
#include "core/json_text.hpp"
#include "format/tiff/crs.hpp"
#include "format/tiff/tiff.hpp"
#include "format/tiff/write/cog.hpp"
#include "penstock/fill.hpp"

namespace penstock::tiff {
namespace {

/// Blanks that a parser of XML would make others of.
std::string with_references(std::string_view text, std::string_view blanks) {
  std::string out;
  for (const char c : text)
    if (blanks.find(c) != std::string_view::npos)
      out += fmt::format("&#{};", static_cast<int>(c));
    else
      out += c;
  return out;
}

/// As GDAL does: once more than XML asks for.
std::string escaped(std::string_view text) { return with_references(escaped_html(escaped_html(text)), "\r"); }

/// In an attribute.
std::string in_attribute(std::string_view text) { return with_references(escaped_html(text), "\t\n\r"); }

/// The keys of a system, and what the place of a pixel is.
GeoKeys with_raster_type(const GeoKeys& of, bool pixel_is_point) {
  constexpr auto kRasterType = static_cast<std::uint16_t>(Key::GTRasterType);
  GeoKeys keys = without_raster_type(of);  // an older penstock wrote it into Zarr arrays
  std::vector<std::uint16_t>& numbers = keys.directory;
  std::size_t at = 4;
  while (at + 4 <= numbers.size() && numbers[at] < kRasterType) at += 4;
  const std::array<std::uint16_t, 4> key{kRasterType, 0, 1, static_cast<std::uint16_t>(pixel_is_point ? 2 : 1)};
  numbers.insert(numbers.begin() + static_cast<std::ptrdiff_t>(at), key.begin(), key.end());
  ++numbers[3];
  return keys;
}

}  // namespace

bool has_own_field(std::string_view name) {
  const auto is = [&](const NamedTag& known) { return name == known.name; };
  return name == "AREA_OR_POINT" || std::ranges::any_of(kTextTags, is) || std::ranges::any_of(kResolutionTags, is) ||
         is(kResolutionUnitTag);
}

Result<GeoKeys> make_geo_keys(const RasterInfo& info) {
  constexpr std::uint16_t kAsciiParams = 34737;
  if (!info.crs && !info.pixel_is_point) return GeoKeys{};
  if (const GeoKeys* const keys = info.crs ? defining_keys(*info.crs) : nullptr)
    return with_raster_type(*keys, info.pixel_is_point);
  std::vector<std::array<std::uint16_t, 4>> keys;
  GeoKeys out;
  std::optional<std::uint16_t> model;
  if (info.crs && info.crs->epsg) {
    model = model_type_of_epsg(*info.crs->epsg);
    if (!model)
      return Error(
          ErrorCode::unsupported,
          fmt::format("a CRS of EPSG:{} cannot be written: it is neither projected nor geographic", *info.crs->epsg));
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

std::string make_gdal_metadata(const RasterInfo& info, const std::vector<std::string>& colors) {
  std::string items;
  for (const auto& [name, value] : info.tags)
    if (!has_own_field(name))
      items += fmt::format("  <Item name=\"{}\">{}</Item>\n", in_attribute(name), escaped(value));
  const auto add_domains = [&](const TagDomains& domains, const std::string& sample) {
    for (const auto& [domain, tags] : domains)
      for (const auto& [name, value] : tags)
        if (!sample.empty() || !has_own_field(domain, name))
          items +=
              fmt::format("  <Item name=\"{}\"{} domain=\"{}\"{}>{}</Item>\n", in_attribute(name), sample,
                          in_attribute(domain), domain.starts_with("xml:") ? " format=\"xml\"" : "", escaped(value));
  };
  add_domains(info.domains, "");
  for (std::size_t i = 0; i < info.bands.size(); ++i) {
    const BandInfo& band = info.bands[i];
    add_domains(band.domains, fmt::format(" sample=\"{}\"", i));
    const auto add = [&](std::string_view name, std::string_view role, std::string_view value) {
      items += fmt::format("  <Item name=\"{}\" sample=\"{}\"{}>{}</Item>\n", in_attribute(name), i,
                           role.empty() ? "" : fmt::format(" role=\"{}\"", role), escaped(value));
    };
    for (const auto& [name, value] : band.tags) add(name, "", value);
    if (i < colors.size() && !colors[i].empty()) add("COLORINTERP", "colorinterp", colors[i]);
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
  PENSTOCK_ASSIGN(Json value, parse_json(json));
  if (dataset.dtype.kind == Kind::complex && value.is_array() && value.size() == 2 && value[1] == 0) {
    value = Json(value[0]);  // GDAL compares the real part
    if (value.is_number()) return dump_json(value);
  }
  if (value.is_number()) return json;
  if (is_text(value, "NaN")) return std::string("nan");
  if (is_text(value, "Infinity")) return std::string("inf");
  if (is_text(value, "-Infinity")) return std::string("-inf");
  if (dataset.dtype.kind == Kind::floating) return std::string("nan");  // a NaN of other bits, as hexadecimal digits
  return Error(ErrorCode::unsupported, fmt::format("nodata {}: a TIFF keeps numbers only", json));
}

}  // namespace penstock::tiff
