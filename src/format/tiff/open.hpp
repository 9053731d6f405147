// TIFF files in a store.
#pragma once
#include <array>

#include "format/entry.hpp"

namespace penstock {

inline constexpr std::array<std::string_view, 4> kTiffSuffixes = {".tif", ".tiff", ".TIF", ".TIFF"};
/// "TIFF", "BigTIFF" for version 43.
std::string tiff_title(int version);

/// The first image of a TIFF or BigTIFF file.  Errors: those of tiff::parse with the key in front.
Result<std::optional<NodeInfo>> open_tiff(Candidate& candidate);

}  // namespace penstock
