// Raw tiles in their folders: tile_x00_y01_z02/info.txt and image_*.bin.
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "oct/raw/info.hpp"
#include "penstock/options.hpp"
#include "penstock/region.hpp"
#include "penstock/store.hpp"

namespace penstock::oct {

/// A tile of a slice.
struct RawTile {
  std::uint64_t x = 0, y = 0;  ///< in the grid: x along rows, y along columns
  std::string prefix;          ///< its folder in the store
};
/// Tiles of each slice, by x and then y.  Folders are searched down to the fourth level.
/// Errors: not_found (no tile at all), invalid_argument (a tile that is there twice).
Result<std::map<std::uint64_t, std::vector<RawTile>>> find_tiles(const Store& store);

Result<TileInfo> read_info(const Store& store, const RawTile& tile);

/// The samples of a tile: z fastest, then A-line, then B-scan.
struct RawSamples {
  Bytes bytes;
  std::uint64_t depth = 0, lines = 0, scans = 0;
  [[nodiscard]] const float* line(std::uint64_t scan, std::uint64_t line) const {
    return reinterpret_cast<const float*>(bytes.data()) + (scan * lines + line) * depth;
  }
};
/// All image_*.bin, by name.  Errors: not_found, corrupt_data (a file that is no whole number of B-scans; fewer B-scans
/// than info.txt says).
Result<RawSamples> read_samples(const Store& store, const RawTile& tile, const TileInfo& info);

/// How a tile's axes become those of a mosaic.
enum class Orientation : std::uint8_t {
  legacy,  ///< rows: B-scans backwards; columns: A-lines backwards
  none,    ///< rows: A-lines; columns: B-scans
};
/// (depth, rows, columns) of an oriented tile.
Shape oriented_shape(const TileInfo& info, Orientation orientation);
/// The tile without the galvo's way back, rolled forward by `shift` lines, in C order (depth, rows, columns) with these
/// distances between rows and between planes.
void place_tile(const RawSamples& samples, const TileInfo& info, std::uint64_t shift, Orientation orientation,
                float* out, std::uint64_t row_stride, std::uint64_t plane_stride);

}  // namespace penstock::oct
