// What is known of an array as a raster.
#include "array/raster/attributes.hpp"
#include "core/json.hpp"
#include "core/settings.hpp"
#include "format/format.hpp"
#include "format/raster.hpp"
#include "penstock/cog.hpp"
#include "penstock/raster.hpp"

namespace penstock {
namespace {

/// By scale and offset of y and x, which are of the middles of pixels.
std::optional<GeoTransform> transform_of(const std::vector<Dimension>& dims) {
  if (dims.size() < 2) return std::nullopt;
  const Dimension &y = dims[dims.size() - 2], &x = dims.back();
  if (!x.scale || !x.offset || !y.scale || !y.offset) return std::nullopt;
  return GeoTransform{*x.scale, 0, *x.offset - *x.scale / 2, 0, *y.scale, *y.offset - *y.scale / 2};
}

/// `proj:code` may be that of a compound with heights.
void take_apart(CogInput& input) {
  std::optional<Crs>& crs = input.info.crs;
  if (!crs || !crs->epsg || crs->vertical_epsg || crs->keys) return;
  const auto parts = parse_crs(std::to_string(*crs->epsg));
  if (parts && parts->epsg != crs->epsg) crs = *parts;  // what cannot be is refused where it is written
}

}  // namespace

bool names_raster(std::string_view url) { return raster_format_of(url) != nullptr; }

Result<CogInput> cog_input(const Array& from, const Region& region) {
  const Dataset dataset = from.dataset();
  CogInput input{from, {}, {}, dataset.nodata, {}};
  if (is_raster(dataset)) {
    PENSTOCK_ASSIGN(RasterSource source, raster_source(from));
    input.info = std::move(source.info);
    input.nodata = std::move(source.nodata);
    if (source.mask) input.mask = *source.mask;
  } else {
    PENSTOCK_ASSIGN(const Json attributes, parse_json(dataset.attributes));
    input.info = told_raster(attributes, dataset.rank() == 3 ? dataset.shape[0] : 1);
    // What xarray writes as version 2 has nodata as the fill value, as only there it reads it.
    const bool by_xarray =
        zarr_format(dataset.format) == 2 && attributes.is_object() && attributes.contains("grid_mapping");
    if (by_xarray && !input.nodata && dataset.fill.size() == dataset.dtype.size_bytes) input.nodata = dataset.fill;
    take_apart(input);
    PENSTOCK_ASSIGN(input.crs_problem, take_grid_mapping(from, attributes, input.info));
    if (!input.info.transform && input.info.gcps.empty()) input.info.transform = transform_of(dataset.dims);
  }
  if (region.empty() || region == whole(dataset.shape)) return input;
  PENSTOCK_TRY(check_region(region, dataset.shape));
  input.region = region;
  if (input.region.size() == 2) input.region.insert(input.region.begin(), Range{0, 1, 1});
  if (input.region.size() != 3) return Error(ErrorCode::invalid_argument, "a raster is (band, y, x), or (y, x)");
  for (const Range& range : input.region)
    if (range.step != 1) return Error(ErrorCode::invalid_argument, "a part of a raster has steps of 1");
  move_to(input.region, input.info);
  forget_statistics(input.info);
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
