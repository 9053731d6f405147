// The flat field of tiles: what they have in common.
#pragma once
#include <vector>

#include "oct/file/volume.hpp"

namespace penstock::oct {

/// A field over a tile, mean 1, row by row.
struct FlatField {
  std::uint64_t rows = 0, cols = 0;
  std::vector<double> values;
  std::uint64_t tiles = 0;  ///< that it was made of
};

/// The mean of the tiles of a projection that are not empty, smoothed: content that tiles do not share averages out.
/// `sigma`: of the Gaussian, as part of a tile's side.  Errors: invalid_argument (no tile but empty ones).
Result<FlatField> mean_flat_field(std::span<const float> projection, const TileGrid& grid, double sigma,
                                  const Options& options);

}  // namespace penstock::oct
