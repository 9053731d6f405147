// Bytes as the text of a coordinate reference system: what is taken is a code, or keys of GeoTIFF that can be written,
// and that PROJ makes a text of which says the same keys.
#include <string_view>

#include "format/tiff/crs.hpp"
#include "fuzz.hpp"
#include "penstock/raster_info.hpp"

using namespace penstock;
using fuzz::demand;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<Crs> crs = parse_crs(text);
  if (!crs) {
    demand(!crs.error().message().empty());
    return 0;
  }
  if (!crs->keys) {
    demand(crs->epsg.has_value());
    return 0;
  }
  demand(crs->keys->texts.size() < tiff::kMaxGeoText && crs->keys->numbers.size() < tiff::kMaxGeoNumbers);
  demand(tiff::crs_of(*crs->keys) == *crs);
  const Result<std::string> told = crs_wkt(*crs);
  demand(told.has_value());
  const Result<Crs> again = parse_crs(*told);
  demand(again.has_value() && again->epsg == crs->epsg && again->vertical_epsg == crs->vertical_epsg);
  return 0;
}
