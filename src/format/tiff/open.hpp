// TIFF files in a store.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "format/entry.hpp"

namespace penstock {

inline constexpr std::array<std::string_view, 4> kTiffSuffixes = {".tif", ".tiff", ".TIF", ".TIFF"};
/// "TIFF", "BigTIFF" for version 43.
std::string tiff_title(int version);

/// The first image of a TIFF or BigTIFF file.  Errors: those of tiff::parse with the key in front.
Result<std::optional<NodeInfo>> open_tiff(Candidate& candidate);
/// All levels, masks and what is said about them.
Result<std::optional<RasterFile>> open_tiff_raster(Candidate& candidate);
/// What keeps it from being a Cloud Optimized GeoTIFF.
Result<std::optional<std::vector<std::string>>> tiff_cog_problems(Candidate& candidate, bool every_tile);

}  // namespace penstock
