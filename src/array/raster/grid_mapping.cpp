// Where an array lies by what another array beside it says, as CF and rioxarray do.
// https://cfconventions.org/cf-conventions/cf-conventions.html#grid-mappings-and-projections
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "array/raster/attributes.hpp"
#include "format/wkt.hpp"

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

/// Of a directory, also of a bucket or server; nullopt: there is none, or it cannot be told.
std::optional<std::string> url_around(const std::string& url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string::npos) {
    std::error_code error;
    const std::filesystem::path own = std::filesystem::absolute(url, error).lexically_normal();
    const bool is_directory = !error && std::filesystem::is_directory(own, error) && own.has_filename();
    return is_directory ? std::optional(own.parent_path().string()) : std::nullopt;
  }
  const std::size_t end = url.rfind('/');
  const bool is_plain = url.find_first_of("?#") == std::string::npos && end > scheme + 3 && end + 1 < url.size();
  return is_plain ? std::optional(url.substr(0, end)) : std::nullopt;
}

/// In the same group.  An array that was opened by its own path is a store of its own: its group lies around it.
Result<Array> array_beside(const Array& from, const std::string& name) {
  const std::string path(from.path());
  const std::size_t end = path.rfind('/');
  if (end != std::string::npos) return Array::open(from.store_ptr(), path.substr(0, end + 1) + name);
  if (!path.empty()) return Array::open(from.store_ptr(), name);
  const auto url = url_around(from.store_ptr()->url());
  if (!url) return Error(ErrorCode::not_found, "nothing lies around the store");
  PENSTOCK_ASSIGN(std::shared_ptr<Store> around, open_store(*url, StoreMode::read, from.store_ptr()->options()));
  PENSTOCK_ASSIGN(const Group group, Group::open(around, ""));  // else it is a folder of who knows what
  return Array::open(std::move(around), name);
}

}  // namespace

Result<std::string> take_grid_mapping(const Array& from, const Json& attributes, RasterInfo& info) {
  const std::string name = attributes.is_object() ? text(attributes, "grid_mapping") : std::string();
  if (name.empty() || name.find_first_of("/: ") != std::string::npos) return std::string();
  const auto beside = array_beside(from, name);
  if (!beside && beside.error().code() == ErrorCode::not_found) return std::string();
  if (!beside) {
    if (!info.crs) info.crs.emplace();
    return beside.error().message();
  }
  PENSTOCK_ASSIGN(const Json said, parse_json(beside->dataset().attributes));
  if (!said.is_object()) return std::string();
  if (!info.transform && info.gcps.empty()) info.transform = geo_transform(text(said, "GeoTransform"));
  std::string system = text(said, "crs_wkt");
  if (system.empty()) system = text(said, "spatial_ref");
  if (info.crs || system.empty()) return std::string();
  const auto defined = parse_crs(system);
  if (defined) {
    info.crs = *defined;
    return std::string();
  }
  info.crs = Crs{std::nullopt, std::nullopt, name_of_wkt(system)};
  return fmt::format("{}/{}: {}", beside->store_ptr()->url(), beside->path(), defined.error().message());
}

}  // namespace penstock
