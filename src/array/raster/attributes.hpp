// What is known of a raster, as attributes of an array that is no raster file.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "penstock/array.hpp"
#include "penstock/raster_info.hpp"

namespace penstock {

/// What is known of an array of a raster file: of the image, an overview, or a mask, as which it lies on the ground.
struct RasterSource {
  RasterInfo info;
  std::optional<Array> mask;
  std::optional<std::vector<std::byte>> nodata;
};
/// Errors: those of opening a raster; changed (another file stands there meanwhile).
Result<RasterSource> raster_source(const Array& from);

/// Adds to `to`, a copy of a part of the raster `from`, what its file says of it: `scale_factor`, `add_offset` and
/// `units` (CF) where all bands share them, and all of it as the object `raster`.  Errors: those of opening a raster.
Status tell_raster(const Array& from, const Region& part, Dataset& to);
/// Takes from attributes what they say of a raster of so many bands: `raster`, `proj:code`, `spatial:transform`, or CF.
RasterInfo told_raster(const Json& attributes, std::uint64_t bands);
/// Takes what the array says that the attribute `grid_mapping` names (CF): `GeoTransform`, and the CRS of `crs_wkt` or
/// `spatial_ref`, where `info` has none.  Returns why a TIFF cannot say that CRS, of which there is no more than the
/// name then, or why the array cannot be opened; empty: it can, or there is none.
Result<std::string> take_grid_mapping(const Array& from, const Json& attributes, RasterInfo& info);
/// What a copy of a raster leaves behind, as a line; empty: nothing.
std::string left_of_raster(const Dataset& from);

/// What is said of an image, of a part of it: (band, y, x).
void move_to(const Region& part, RasterInfo& info);
/// The same of an overview of it.
void scale_to(const Shape& image, const Shape& level, RasterInfo& info);
/// Drops what was computed from the elements: they are others now.
void forget_statistics(RasterInfo& info);
/// The same of the attributes of an array that is no raster file: of `raster`, and as rioxarray writes them.
Status forget_statistics(Dataset& dataset);
/// What `raster` says of an array of so many bands, of a part of it.
Status move_raster(Dataset& dataset, const Region& part, std::uint64_t bands);

}  // namespace penstock
