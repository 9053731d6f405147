// How visible the edges of tiles are in a stitched slice.
#pragma once
#include <optional>

#include "oct/transform/offset.hpp"
#include "oct/transform/tile_transform.hpp"

namespace penstock::oct {

/// How far a projection jumps across the edges of tiles over how far it does between them, each jump averaged along its
/// edge and counted from how the image goes on beside it: about 1 where no seam shows.  `projection`: of a slice whose
/// tiles lie at `layout`; 0 is where nothing is.  nullopt: no edge lies inside.
std::optional<double> seam_contrast(const Image& projection, const TileLayout& layout, std::uint64_t tile_rows,
                                    std::uint64_t tile_cols);

}  // namespace penstock::oct
