// Rasters: an array (band, y, x) on the ground, with coarser levels and masks.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "penstock/api.hpp"
#include "penstock/array.hpp"
#include "penstock/raster_info.hpp"

namespace penstock {

/// Whether the array is of a format whose files are rasters (TIFF).
PENSTOCK_API bool is_raster(const Dataset& dataset);

/// A raster in a store.  Copies share it.  Thread-safe.  Level 0 is the finest, the image itself; the others are its
/// overviews.
class PENSTOCK_API Raster {
 public:
  /// Opens the raster at `path`.  Errors: not_found, unsupported (no raster; what of it, by name), invalid_metadata.
  static Result<Raster> open(std::shared_ptr<Store> store, std::string_view path);
  /// The same at a path or URL.
  static Result<Raster> open(const std::string& url, const StoreOptions& options = {});

  [[nodiscard]] const RasterInfo& info() const;
  [[nodiscard]] std::size_t level_count() const;
  /// Shape (band, y, x).  Errors: out_of_range (no such level), unsupported (what of this level, by name).
  [[nodiscard]] Result<Array> level(std::size_t level) const;
  /// The mask of a level as the file has it: shape (1, y, x), uint8, 0 where there is nothing to see, else 255.
  /// nullopt: there is none.  Errors: as `level`.
  [[nodiscard]] Result<std::optional<Array>> mask(std::size_t level) const;
  /// That of the image, scaled to the pixels of a level; nullopt: not said.  Errors: out_of_range.
  [[nodiscard]] Result<std::optional<GeoTransform>> transform(std::size_t level) const;
  /// What the corners of the image enclose; nullopt: without a transform.
  [[nodiscard]] std::optional<GroundBounds> bounds() const;
  /// The coarsest level whose pixels are no larger than `resolution` along x and y, in the units of the CRS; without a
  /// transform in pixels of the image.  0 when even its pixels are larger.  Errors: invalid_argument (no positive
  /// number).
  [[nodiscard]] Result<std::size_t> level_for(double resolution) const;
  /// The pixels of a level that touch `bounds`, all bands; what lies outside of the raster is cut off.  Errors:
  /// invalid_argument (nothing of it lies inside; not finite or empty; the raster has no transform), out_of_range.
  [[nodiscard]] Result<Region> window(const GroundBounds& bounds, std::size_t level) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace penstock
