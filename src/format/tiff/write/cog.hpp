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

/// Of what is known; empty directory: nothing is.
Result<GeoKeys> make_geo_keys(const RasterInfo& info);
/// What GDAL reads of names and texts, scales, offsets, units and descriptions; empty: there are none.
/// `colors`: of each band what other fields do not say; may be empty.
std::string make_gdal_metadata(const RasterInfo& info, const std::vector<std::string>& colors);
/// Whether a tag of the file has a field of its own, so that it is not among GDAL's metadata.
bool has_own_field(std::string_view name);
/// The same of a tag of another domain.
bool has_own_field(std::string_view domain, std::string_view name);
/// The ICC profile; empty: none.  Errors: invalid_argument (no base64).
Result<std::vector<std::byte>> make_icc_profile(const RasterInfo& info);
/// The XMP packet; empty: none.
std::string make_xmp(const RasterInfo& info);
/// What cannot be written: texts with characters that XML does not have, places that are not finite, more of it than is
/// read again.  Errors: invalid_argument, naming it.
Status check_info(const RasterInfo& info);

/// PhotometricInterpretation, ExtraSamples and ColorMap.
struct ColorFields {
  std::uint16_t photometric = 1;
  std::vector<std::uint16_t> extra, colormap;
  std::vector<std::string> others;  ///< of each band the color that these do not say, for GDAL's metadata; else empty
};
ColorFields make_color_fields(const RasterInfo& info, const Dataset& level);
/// Whether elements of the image are looked up in a colormap, so that what lies between two is nothing.
bool has_palette(const RasterInfo& info, const Dataset& image);
/// The value that was not measured, as GDAL reads it; empty: none.
Result<std::string> make_nodata_text(const Dataset& dataset);

/// What 2-byte code an EPSG code's kind has in GTModelType: 1 projected, 2 geographic; nullopt: it is neither.
std::optional<std::uint16_t> model_type_of_epsg(std::uint32_t code);

}  // namespace penstock::tiff
