// What is known of a raster, as attributes of an array that is no raster file.
#pragma once
#include <string>

#include "core/json.hpp"
#include "penstock/array.hpp"
#include "penstock/raster_info.hpp"

namespace penstock {

/// Adds to `to`, a copy of a part of the raster `from`, what its file says of it: `scale_factor`, `add_offset` and
/// `units` (CF) where all bands share them, and all of it as the object `raster`.  Errors: those of opening a raster.
Status tell_raster(const Array& from, const Region& part, Dataset& to);
/// Takes from attributes what they say of a raster of so many bands: `raster`, `proj:code`, `spatial:transform`, or CF.
RasterInfo told_raster(const Json& attributes, std::uint64_t bands);
/// What a copy of a raster leaves behind, as a line; empty: nothing.
std::string left_of_raster(const Dataset& from);

/// What is said of an image, of a part of it: (band, y, x).
void move_to(const Region& part, RasterInfo& info);

}  // namespace penstock
