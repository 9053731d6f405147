// Well-known text of coordinate reference systems, by PROJ where it is found.
#include <fmt/format.h>

#include "core/json.hpp"
#include "format/proj.hpp"
#include "format/tiff/crs.hpp"
#include "penstock/raster_info.hpp"

namespace penstock {
namespace {

Result<Json> system_of_codes(const Crs& crs, const proj::Register& known) {
  PENSTOCK_ASSIGN(Json system, known.entry(proj::Kind::crs, *crs.epsg));
  if (!crs.vertical_epsg) return system;
  PENSTOCK_ASSIGN(Json vertical, known.entry(proj::Kind::crs, *crs.vertical_epsg));
  return tiff::with_heights(crs.name, std::move(system), std::move(vertical));
}

}  // namespace

Result<std::string> crs_wkt(const Crs& crs) {
  const GeoKeys* const keys = tiff::defining_keys(crs);
  if (!crs.epsg && keys == nullptr)
    return Error(ErrorCode::unsupported,
                 fmt::format("the CRS{} has no more than a name: neither an EPSG code nor keys that define it",
                             crs.name.empty() ? "" : " \"" + crs.name + "\""));
  PENSTOCK_ASSIGN(const proj::Register known, proj::Register::open());
  PENSTOCK_ASSIGN_IN(const Json system, keys != nullptr ? tiff::system_of(*keys, known) : system_of_codes(crs, known),
                     crs.name.empty() ? std::string("the CRS") : fmt::format("the CRS \"{}\"", crs.name));
  return known.wkt(system);
}

}  // namespace penstock
