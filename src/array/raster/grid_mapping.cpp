// Where an array lies by what another array beside it says, as CF and rioxarray do.
// https://cfconventions.org/cf-conventions/cf-conventions.html#grid-mappings-and-projections
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

#include "array/raster/attributes.hpp"

namespace penstock {
namespace {

std::string text(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// "c a b f d e", as GDAL orders them.
std::optional<GeoTransform> geo_transform(std::string_view words) {
  GeoTransform t{};
  constexpr std::array<std::size_t, 6> kPlaces = {2, 0, 1, 5, 3, 4};
  for (const std::size_t place : kPlaces) {
    words.remove_prefix(std::min(words.find_first_not_of(' '), words.size()));
    const auto [end, error] = std::from_chars(words.data(), words.data() + words.size(), t[place]);
    if (error != std::errc() || !std::isfinite(t[place])) return std::nullopt;
    words.remove_prefix(static_cast<std::size_t>(end - words.data()));
  }
  return words.find_first_not_of(' ') == std::string_view::npos ? std::optional(t) : std::nullopt;
}

/// The digits at the beginning, behind a quotation mark or none.
std::optional<std::uint32_t> code_at(std::string_view text) {
  if (text.starts_with('"')) text.remove_prefix(1);
  std::uint32_t code = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), code);
  return error == std::errc() && code <= 0xFFFF ? std::optional(code) : std::nullopt;
}

/// The EPSG code that well-known text (WKT 1 or 2) has for the system as a whole: codes of its parts stand deeper.
std::optional<std::uint32_t> epsg_of_wkt(std::string_view wkt) {
  int depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < wkt.size(); ++i) {
    const char c = wkt[i];
    if (c == '"') in_text = !in_text;
    if (in_text) continue;
    if (c == ']' || c == ')') --depth;
    if (c != '[' && c != '(') continue;
    const std::string_view before = wkt.substr(0, i), behind = wkt.substr(i + 1);
    const bool is_code = before.ends_with("ID") || before.ends_with("AUTHORITY");
    if (depth == 1 && is_code && behind.starts_with("\"EPSG\",")) return code_at(behind.substr(7));
    ++depth;
  }
  return std::nullopt;
}

/// What stands between the first two quotation marks.
std::string name_of_wkt(std::string_view wkt) {
  const std::size_t begin = wkt.find('"');
  if (begin == std::string_view::npos) return "";
  return std::string(wkt.substr(begin + 1, wkt.find('"', begin + 1) - begin - 1));
}

}  // namespace

Status take_grid_mapping(const Array& from, const Json& attributes, RasterInfo& info) {
  const std::string name = attributes.is_object() ? text(attributes, "grid_mapping") : std::string();
  if (name.empty() || name.find_first_of("/: ") != std::string::npos) return {};
  const std::string path(from.path());
  const std::size_t end = path.rfind('/');
  const auto beside = Array::open(from.store_ptr(), end == std::string::npos ? name : path.substr(0, end + 1) + name);
  if (!beside) return beside.error().code() == ErrorCode::not_found ? Status() : Status(beside.error());
  PENSTOCK_ASSIGN(const Json said, parse_json(beside->dataset().attributes));
  if (!said.is_object()) return {};
  if (!info.transform && info.gcps.empty()) info.transform = geo_transform(text(said, "GeoTransform"));
  std::string wkt = text(said, "crs_wkt");
  if (wkt.empty()) wkt = text(said, "spatial_ref");
  if (info.crs || wkt.empty()) return {};
  info.crs = Crs{epsg_of_wkt(wkt), std::nullopt, name_of_wkt(wkt)};
  return {};
}

}  // namespace penstock
