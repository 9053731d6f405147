// Whether the grid that a file names can be one.
#pragma once
#include <cmath>

#include "tracto/file/tractogram.hpp"

namespace penstock::tracto {

/// Extents from 1 to 32767, as many as TRX and TRK can say; a transformation that has an inverse.
/// Errors: invalid_metadata.
inline Status check_grid(const ImageGrid& grid) {
  for (const std::uint64_t extent : grid.dims)
    if (extent < 1 || extent > 32767)
      return Error(ErrorCode::invalid_metadata,
                   "dimensions: must be from 1 to 32767, one is " + std::to_string(extent));
  const auto& m = grid.world_from_voxel.rows;
  const double det =
      m[0] * (m[5] * m[10] - m[6] * m[9]) - m[1] * (m[4] * m[10] - m[6] * m[8]) + m[2] * (m[4] * m[9] - m[5] * m[8]);
  bool finite = std::isfinite(det);
  for (const double value : m) finite = finite && std::isfinite(value);
  if (!finite || std::abs(det) < 1e-12)
    return Error(ErrorCode::invalid_metadata, "the transformation to the world has no inverse");
  return {};
}

}  // namespace penstock::tracto
