// info.txt of a raw tile: `key: value` lines.
#pragma once
#include <cstdint>
#include <string_view>

#include "penstock/error.hpp"

namespace penstock::oct {

/// How a raw tile was taken.
struct TileInfo {
  std::uint64_t nx = 0, ny = 0;           ///< A-lines of a B-scan, B-scans
  std::uint64_t n_extra = 0;              ///< A-lines of the galvo's way back, in each B-scan
  std::uint64_t top_z = 0, bottom_z = 0;  ///< first and last depth sample
  double width_um = 0, height_um = 0;     ///< of nx and of ny
  [[nodiscard]] std::uint64_t depth() const { return bottom_z - top_z + 1; }
  [[nodiscard]] std::uint64_t lines() const { return nx + n_extra; }
  bool operator==(const TileInfo&) const = default;
};

/// Keys nx, ny, n_extra, width, height, top_z, bottom_z; others are passed over.  Errors: corrupt_data (a key that is
/// missing, or whose value is out of bounds, by name).
Result<TileInfo> parse_info(std::string_view text);

}  // namespace penstock::oct
