// TIFF files -> Dataset.  TIFF 6.0, BigTIFF, OGC GeoTIFF 1.1 (https://docs.ogc.org/is/19-008r4/19-008r4.html)
#pragma once
#include <string_view>

#include "format/tiff/directory.hpp"
#include "penstock/dataset.hpp"

namespace penstock::tiff {

/// The first image of the file at `key`: shape (band, y, x), one chunk a tile or strip, which lie where the tables of
/// the file say; absent tiles are the value that was not measured, or 0.  Elements are as stored: no palette, scale or
/// offset is applied.  Errors: invalid_metadata and corrupt_data naming directory and tag, unsupported naming what.
Result<Dataset> parse(ByteSource& file, std::string_view key);

/// What is said about the place of the raster, as attributes and dimensions; completes `dataset`.
Status add_place(ByteSource& file, const Directory& directory, Dataset& dataset);

}  // namespace penstock::tiff
