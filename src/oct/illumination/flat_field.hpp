// The flat field of tiles: what they have in common.
#pragma once
#include <vector>

#include "oct/file/volume.hpp"
#include "oct/transform/offset.hpp"

namespace penstock::oct {

/// A field over a tile, mean 1, row by row.
struct FlatField {
  std::uint64_t rows = 0, cols = 0;
  std::vector<double> values;
  std::uint64_t tiles = 0;  ///< that it was made of
  std::uint64_t pairs = 0;  ///< of neighbours, of `overlap_flat_field`
};

/// The mean of the tiles of a projection that are not empty, smoothed: content that tiles do not share averages out.
/// `sigma`: of the Gaussian, as part of a tile's side.  Errors: invalid_argument (no tile but empty ones).
Result<FlatField> mean_flat_field(std::span<const float> projection, const TileGrid& grid, double sigma,
                                  const Options& options);

/// What neighbouring tiles disagree on where they show the same place, and so needs no content to average out: the
/// logarithm of the field is a polynomial of the third degree, fitted to the logarithms of all overlaps.  Without a
/// pair to go by it is 1 everywhere (`pairs` is 0).  Errors: those of find_pairs.
Result<FlatField> overlap_flat_field(const Image& projection, const TileGrid& grid, const Options& options);

}  // namespace penstock::oct
