// What is known of an array as a raster.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/json.hpp"
#include "core/settings.hpp"
#include "format/format.hpp"
#include "format/raster.hpp"
#include "penstock/cog.hpp"
#include "penstock/raster.hpp"

namespace penstock {
namespace {

/// "EPSG:32633" -> 32633
std::optional<Crs> crs_of(const Json& attributes) {
  const auto found = attributes.find("proj:code");
  if (found == attributes.end() || !found->is_string()) return std::nullopt;
  const std::string text = found->get<std::string>();
  if (!text.starts_with("EPSG:")) return std::nullopt;
  Crs crs;
  std::uint32_t code = 0;
  const auto [end, error] = std::from_chars(text.data() + 5, text.data() + text.size(), code);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  crs.epsg = code;
  return crs;
}

std::optional<GeoTransform> transform_of(const Json& attributes, const std::vector<Dimension>& dims) {
  const auto found = attributes.find("spatial:transform");
  GeoTransform t{};
  if (found != attributes.end() && found->is_array() && found->size() == t.size() &&
      std::ranges::all_of(*found, [](const Json& v) { return v.is_number(); })) {
    std::ranges::transform(*found, t.begin(), [](const Json& v) { return v.get<double>(); });
    return std::ranges::all_of(t, [](double v) { return std::isfinite(v); }) ? std::optional(t) : std::nullopt;
  }
  if (dims.size() < 2) return std::nullopt;
  const Dimension &y = dims[dims.size() - 2], &x = dims.back();
  if (!x.scale || !x.offset || !y.scale || !y.offset) return std::nullopt;
  return GeoTransform{*x.scale, 0, *x.offset - *x.scale / 2, 0, *y.scale, *y.offset - *y.scale / 2};
}

}  // namespace

Result<CogInput> cog_input(const Array& from) {
  const Dataset dataset = from.dataset();
  CogInput input{from, {}, {}, dataset.nodata};
  if (is_raster(dataset)) {
    PENSTOCK_ASSIGN(const Raster raster, Raster::open(from.store_ptr(), from.path()));
    input.info = raster.info();
    PENSTOCK_ASSIGN(const std::optional<Array> mask, raster.mask(0));
    if (mask) input.mask = *mask;
    return input;
  }
  PENSTOCK_ASSIGN(const Json attributes, parse_json(dataset.attributes));
  input.info.crs = crs_of(attributes);
  input.info.transform = transform_of(attributes, dataset.dims);
  return input;
}

Result<std::vector<std::string>> cog_problems(const std::string& url, const StoreOptions& store, bool every_tile) {
  StoreOptions how = store;
  if (!how.links) {
    PENSTOCK_ASSIGN(how.links, default_links());
  }
  PENSTOCK_ASSIGN(const Location location, locate(url, *how.links));
  PENSTOCK_ASSIGN(const std::shared_ptr<Store> opened, open_store(location.store_url, StoreMode::read, how));
  return raster_layout_problems(*opened, location.path, every_tile);
}

}  // namespace penstock
