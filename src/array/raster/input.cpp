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

/// What is said of an image, of a part of it.
void move_to(const Region& part, RasterInfo& info) {
  const auto x = static_cast<double>(part[2].start), y = static_cast<double>(part[1].start);
  if (info.transform) {
    GeoTransform& t = *info.transform;
    t[2] += t[0] * x + t[1] * y;
    t[5] += t[3] * x + t[4] * y;
  }
  for (GroundControlPoint& point : info.gcps) {
    point.column -= x;
    point.row -= y;
  }
  std::vector<BandInfo> bands;
  for (std::uint64_t b = part[0].start; b < part[0].start + part[0].count && b < info.bands.size(); ++b)
    bands.push_back(info.bands[b]);
  info.bands = std::move(bands);
}

}  // namespace

bool names_raster(std::string_view url) { return raster_format_of(url) != nullptr; }

Result<CogInput> cog_input(const Array& from, const Region& region) {
  const Dataset dataset = from.dataset();
  CogInput input{from, {}, {}, dataset.nodata, {}};
  if (is_raster(dataset)) {
    PENSTOCK_ASSIGN(const Raster raster, Raster::open(from.store_ptr(), from.path()));
    input.info = raster.info();
    PENSTOCK_ASSIGN(const std::optional<Array> mask, raster.mask(0));
    if (mask) input.mask = *mask;
  } else {
    PENSTOCK_ASSIGN(const Json attributes, parse_json(dataset.attributes));
    input.info.crs = crs_of(attributes);
    input.info.transform = transform_of(attributes, dataset.dims);
  }
  if (region.empty() || region == whole(dataset.shape)) return input;
  PENSTOCK_TRY(check_region(region, dataset.shape));
  input.region = region;
  if (input.region.size() == 2) input.region.insert(input.region.begin(), Range{0, 1, 1});
  if (input.region.size() != 3) return Error(ErrorCode::invalid_argument, "a raster is (band, y, x), or (y, x)");
  for (const Range& range : input.region)
    if (range.step != 1) return Error(ErrorCode::invalid_argument, "a part of a raster has steps of 1");
  move_to(input.region, input.info);
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
