// The columns of a tile: their mean over depth, and which hold something.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "oct/tiles/tile_step.hpp"

namespace penstock::oct {

/// Of each column (rows, columns of the tile), in host memory.
struct ColumnStatistics {
  std::vector<float> mean;          ///< over depth
  std::vector<std::uint8_t> holds;  ///< whether an element is not 0
  /// Whether the tile is nothing but 0: one that is missing.
  [[nodiscard]] bool empty() const {
    return std::ranges::none_of(holds, [](std::uint8_t h) { return h != 0; });
  }
};
/// `elements`: (planes, rows, columns), packed.  Complete on return.
Result<ColumnStatistics> column_statistics(const Tensor& elements, const Tools& tools);

/// The projection of a mosaic, tile by tile; 0, as what was not measured, where a mean is not finite.
class Projection {
 public:
  void begin(const TileGrid& grid);
  /// From several threads, of different tiles.
  void put(std::uint64_t tile, const ColumnStatistics& columns);
  [[nodiscard]] std::vector<float>& values() { return values_; }
  [[nodiscard]] bool empty(std::uint64_t tile) const { return empty_[tile] != 0; }

 private:
  TileGrid grid_;
  std::vector<float> values_;  // (rows, columns) of the mosaic
  std::vector<std::uint8_t> empty_;
};

}  // namespace penstock::oct
