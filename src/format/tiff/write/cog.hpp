// Cloud Optimized GeoTIFFs: tiles, and before them all that says where they lie.
// https://docs.ogc.org/is/21-026/21-026.html; the ghost area: https://gdal.org/en/stable/drivers/raster/cog.html
#pragma once
#include <string>
#include <vector>

#include "format/raster.hpp"

namespace penstock::tiff {

/// Datasets of levels and masks, with codecs as the options say.  Errors: invalid_argument and unsupported, naming the
/// option or the type.
Result<RasterPlan> plan_cog(const Dataset& image, const RasterInfo& info, bool with_mask, const CogOptions& options);
Result<std::unique_ptr<RasterWriter>> create_cog(Store& store, std::string_view path, const RasterPlan& plan);

/// Where the tiles of an image lie.
struct TileTable {
  std::vector<std::uint64_t> offsets, sizes;
};
/// Header, ghost area and all directories.  `tables`: level 0, its mask if there are any, level 1, ...  The size of the
/// result does not depend on the numbers in them.  Errors: unsupported (a CRS that cannot be written).
Result<std::vector<std::byte>> make_head(const RasterPlan& plan, const std::vector<TileTable>& tables, bool big);

/// GeoKeyDirectory and GeoAsciiParams of what is known; empty directory: nothing is.
struct GeoKeys {
  std::vector<std::uint16_t> directory;
  std::string texts;
};
Result<GeoKeys> make_geo_keys(const RasterInfo& info);
/// What GDAL reads of names and texts, scales, offsets, units and descriptions; empty: there are none.
std::string make_gdal_metadata(const RasterInfo& info);
/// The value that was not measured, as GDAL reads it; empty: none.
Result<std::string> make_nodata_text(const Dataset& dataset);

/// What 2-byte code an EPSG code's kind has in GTModelType: 1 projected, 2 geographic; nullopt: not known.
std::optional<std::uint16_t> model_type_of_epsg(std::uint32_t code);

}  // namespace penstock::tiff
