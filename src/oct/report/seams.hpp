// How visible the edges of tiles are in a stitched slice.
#pragma once
#include <cstdint>
#include <optional>

#include "oct/transform/offset.hpp"
#include "oct/transform/tile_transform.hpp"

namespace penstock::oct {

/// The side of a tile: pixels `at` - 1 and `at` along one axis, from `first` up to `last` along the other.
struct TileEdge {
  bool down = false;  ///< whether one crosses it along rows
  std::int64_t at = 0;
  std::uint64_t first = 0, last = 0;
};
/// How far a projection jumps across the edges of tiles, each jump averaged along its edge and counted from how the
/// image goes on beside it.
struct Seams {
  double contrast =
      0;             ///< mean of the jumps across edges over that of jumps between edges: about 1 where no seam shows
  double worst = 0;  ///< the largest jump across an edge over the largest between edges
  TileEdge at;       ///< where that is
};
/// `projection`: of a slice whose tiles lie at `layout`; 0 is where nothing is.  nullopt: no edge lies inside.
std::optional<Seams> find_seams(const Image& projection, const TileLayout& layout, std::uint64_t tile_rows,
                                std::uint64_t tile_cols);

}  // namespace penstock::oct
