// The raw tiles of one slice as a grid, and how large they become.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "oct/raw/tiles.hpp"

namespace penstock::oct {

/// How tiles are turned and resampled.
struct Sampling {
  Orientation orientation = Orientation::legacy;
  double axial_um = 0;       ///< distance of depth samples
  double resolution_um = 0;  ///< voxel size to resample to; 0: that of the tiles
};

/// The tiles of one slice, and what is the same for all of them.
struct RawSlice {
  std::shared_ptr<Store> store;
  std::vector<RawTile> tiles;
  TileInfo info;
  std::uint64_t first_x = 0, first_y = 0, rows = 0, cols = 0;
  Orientation orientation = Orientation::legacy;
  std::uint64_t galvo_shift = 0;
  Shape native;                    ///< (depth, rows, columns) of an oriented tile
  Shape tile;                      ///< the same at the wanted resolution
  std::vector<double> spacing_mm;  ///< of it

  /// Reads every info.txt.  `raw`: the folder, for errors.  Errors: those of reading, invalid_metadata (tiles of
  /// several sizes, names of a grid that is too large).
  static Result<RawSlice> open(const std::string& raw, std::shared_ptr<Store> store, std::uint64_t slice,
                               std::vector<RawTile> tiles);
  /// Sets what is left.  Errors: invalid_argument (sizes that are not above 0, or far below those of the tiles).
  Status sample(const std::string& raw, const Sampling& how);

  /// nullptr: it is missing.
  [[nodiscard]] const RawTile* at(std::uint64_t x, std::uint64_t y) const;
};

}  // namespace penstock::oct
