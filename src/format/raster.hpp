// Raster files as data: what formats give of them.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "penstock/dataset.hpp"
#include "penstock/raster_info.hpp"
#include "penstock/store.hpp"

namespace penstock {

/// The levels of a raster, finest first.  One that cannot be read does not keep others from being read.
struct RasterFile {
  struct Level {
    Shape shape;                          ///< band, y, x
    Result<Dataset> dataset;              ///< or why not
    std::optional<Result<Dataset>> mask;  ///< nullopt: there is none
  };
  RasterInfo info;
  std::vector<Level> levels;  ///< at least one
};

/// Reads the raster at `path`.  Errors: not_found, unsupported (of a format that has none), those of the format.
Result<RasterFile> read_raster(const Store& store, std::string_view path);
/// Whether files of a format are rasters.
bool has_rasters(const FormatInfo& format);

}  // namespace penstock
