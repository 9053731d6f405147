// How visible the edges of tiles are in a stitched slice.
#pragma once
#include <optional>

#include "oct/transform/offset.hpp"
#include "oct/transform/tile_transform.hpp"

namespace penstock::oct {

/// The mean step across the edges of tiles over that in the pixels beside them, each averaged along its edge: 1 where
/// no seam shows.  `projection`: of a slice whose tiles lie at `layout`; 0 is where nothing is.  nullopt: no edge lies
/// inside.
std::optional<double> seam_contrast(const Image& projection, const TileLayout& layout, std::uint64_t tile_rows,
                                    std::uint64_t tile_cols);

}  // namespace penstock::oct
