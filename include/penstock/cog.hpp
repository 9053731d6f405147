// Writing Cloud Optimized GeoTIFFs.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "penstock/api.hpp"
#include "penstock/array.hpp"
#include "penstock/cog_options.hpp"
#include "penstock/raster_info.hpp"

namespace penstock {

/// What is written.  Shapes (band, y, x) or (y, x), in a store or in the memory of any device, from where it is copied
/// box by box in the order of the view's stream; views must outlive the call.
struct CogInput {
  std::variant<Array, TensorView> image;
  /// uint8 or bool, (1, y, x) or (y, x); 0: nothing is to be seen there.
  std::variant<std::monostate, Array, TensorView> mask = {};
  RasterInfo info = {};
  std::optional<std::vector<std::byte>> nodata = {};  ///< one element in native order
  /// Which part of image and mask is written, (band, y, x), steps of 1; `info` is of the part.  Empty: all.
  Region region = {};
  /// Why the CRS of the image cannot be written, so that `info.crs` has no more than its name: `write_cog` refuses it,
  /// unless another one is put there.
  std::string crs_problem = {};
};
/// An array with what is known of it: of a raster file all of RasterInfo, nodata and the mask; else its nodata and the
/// attributes of GeoZarr (`proj:code`, `spatial:transform`), of CF (`scale_factor`, `add_offset`, `units`) and of a
/// copied raster (`raster`), place and CRS of what `grid_mapping` names, or scale and offset of the last two
/// dimensions. `region` (of as many dimensions as the array): the part that is written.  Errors: invalid_argument
/// (steps), those of opening a raster.
PENSTOCK_API Result<CogInput> cog_input(const Array& from, const Region& region = {});
/// Whether a file of this name is written as a COG: it ends in .tif or .tiff.
PENSTOCK_API bool names_raster(std::string_view url);

/// What keeps a TIFF from being a Cloud Optimized GeoTIFF, a line each; empty: it is one.  `every_tile`: also what
/// stands around each tile, where the file promises it.  Errors: not_found, unsupported (no TIFF), invalid_metadata.
PENSTOCK_API Result<std::vector<std::string>> cog_problems(const std::string& url, const StoreOptions& store,
                                                           bool every_tile);

/// Writes `from` as the file `path` of a store: tiled, with overviews and their masks, directories first.  The same
/// input gives the same bytes.  The file stands when this returns, or never was.  Working memory stays within the
/// budget; encoded tiles wait in a nameless file in $TMPDIR.  Errors: already_exists, invalid_argument and unsupported
/// (naming the option or the type), budget_too_small, no_space, those of reading.
PENSTOCK_API Result<Report> write_cog(const CogInput& from, std::shared_ptr<Store> to_store, std::string_view path,
                                      const CogOptions& cog, Array::IfExists if_exists, const Options& options);
/// The same at a path or URL.
PENSTOCK_API Result<Report> write_cog(const CogInput& from, const std::string& url, const StoreOptions& store,
                                      const CogOptions& cog, Array::IfExists if_exists, const Options& options);

}  // namespace penstock
