// TIFF files in a store.
#pragma once
#include "format/entry.hpp"

namespace penstock {

/// The first image of a TIFF or BigTIFF file.  Errors: those of tiff::parse with the key in front.
Result<std::optional<NodeInfo>> open_tiff(Candidate& candidate);

}  // namespace penstock
