// Coordinate reference systems that a GeoTIFF names or defines.
#pragma once
#include <optional>

#include "core/json_fwd.hpp"
#include "format/proj.hpp"
#include "format/tiff/geo_keys.hpp"

namespace penstock::tiff {

/// As far as it needs no database.  nullopt: the keys say none.
std::optional<Crs> crs_of(const GeoKeys& keys);
/// What the place of a pixel is belongs to an image, not to its system.
GeoKeys without_raster_type(GeoKeys keys);
/// Those that define a system; nullptr: there are none, or its codes say all of it, or something else by now.
const GeoKeys* defining_keys(const Crs& crs);
/// As PROJJSON, all that they define: the horizontal system, a shift to WGS 84 (TOWGS84), and the vertical one. Errors:
/// not_found (a code that PROJ's database does not have), unsupported and invalid_metadata, naming the key.
Result<Json> system_of(const GeoKeys& keys, const proj::Register& known);
/// What stands before well-known text of ESRI in a citation.
inline constexpr std::string_view kEsriText = "ESRI PE String = ";
/// Keys that define a system in PROJJSON: reading them gives the same one.  Errors: unsupported.
Result<GeoKeys> keys_of(const Json& system, const proj::Register& known);
/// The code of EPSG that a part of PROJJSON has.
std::optional<std::uint32_t> epsg_of(const Json& part);
/// Whether the ellipsoid of a geodetic system in PROJJSON is a sphere.
bool is_spherical(const Json& geodetic);
/// A horizontal system with heights, as PROJJSON; what stands as vertical may be the geographic system of three axes.
/// Errors: unsupported (heights of neither kind), naming the key.
Result<Json> with_heights(const std::string& name, Json horizontal, Json vertical);

}  // namespace penstock::tiff
