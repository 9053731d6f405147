// How neighbouring tiles of a mosaic lie to each other.
#pragma once
#include <vector>

#include "oct/file/volume.hpp"
#include "oct/transform/offset.hpp"

namespace penstock::oct {

/// Which pairs are looked at.
struct PairOptions {
  double overlap = 0.2;             ///< part of a tile that neighbours share, about
  double max_empty_fraction = 0.9;  ///< of the shared part, of pixels not above Otsu's threshold
};
/// Two neighbours: (i, j) and the one below it, or to its right.
struct Pair {
  std::uint64_t i = 0, j = 0;
  bool down = false;
  Offset offset;  ///< of the second in the first
};
/// The pairs whose overlap shows where they lie: first those below each other, then those beside each other.
struct Pairs {
  std::vector<Pair> found;
  std::uint64_t looked = 0, empty = 0;
};
/// `projection`: of the mosaic, whole tiles at least; pixels that are saturated do not count.  Errors: invalid_argument
/// (overlap), cancelled, out_of_memory.  `device`: where overlaps are compared; the pairs are the same on every one.
Result<Pairs> find_pairs(const Image& projection, const TileGrid& grid, const PairOptions& how, const Options& options,
                         Device device = {});

/// A projection with 0, as what was not measured, where it is saturated or not finite.  A pixel that the detector could
/// not measure is far brighter than all that a slice shows, by three times its 99.9th percentile: it says nothing of
/// where a tile lies, and would outweigh what does.
Result<Image> without_saturated(const Image& projection, const Options& options);

/// A tile of the projection.
Image tile_of(const Image& projection, const TileGrid& grid, std::uint64_t i, std::uint64_t j);

}  // namespace penstock::oct
