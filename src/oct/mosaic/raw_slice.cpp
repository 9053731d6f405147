#include "oct/mosaic/raw_slice.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/checked.hpp"
#include "oct/file/volume.hpp"
#include "oct/mosaic/resample.hpp"

namespace penstock::oct {

Result<RawSlice> RawSlice::open(const std::string& raw, std::shared_ptr<Store> store, std::uint64_t slice,
                                std::vector<RawTile> tiles) {
  RawSlice s;
  s.store = std::move(store);
  s.tiles = std::move(tiles);
  std::uint64_t last_x = 0, last_y = 0;
  s.first_x = s.first_y = ~std::uint64_t{0};
  for (const RawTile& t : s.tiles) {
    s.first_x = std::min(s.first_x, t.x), last_x = std::max(last_x, t.x);
    s.first_y = std::min(s.first_y, t.y), last_y = std::max(last_y, t.y);
    PENSTOCK_ASSIGN_IN(const TileInfo info, read_info(*s.store, t), raw);
    if (&t == &s.tiles.front()) s.info = info;
    if (info != s.info)
      return Error(ErrorCode::invalid_metadata,
                   fmt::format("{}: {} is of another size than {}", raw, t.prefix, s.tiles.front().prefix));
  }
  s.rows = last_x - s.first_x + 1, s.cols = last_y - s.first_y + 1;
  if (saturating_mul(s.rows, s.cols) > kMostTiles)
    return Error(ErrorCode::invalid_metadata, fmt::format("{}: {} tiles of slice {} are named as a grid of {} x {}",
                                                          raw, s.tiles.size(), slice, s.rows, s.cols));
  return s;
}

Status RawSlice::sample(const std::string& raw, const Sampling& how) {
  orientation = how.orientation;
  native = oriented_shape(info, orientation);
  const double x_mm = info.width_um / static_cast<double>(info.nx) / 1000;
  const double y_mm = info.height_um / static_cast<double>(info.ny) / 1000;
  const double z_mm = how.axial_um / 1000;
  const bool legacy = orientation == Orientation::legacy;
  spacing_mm = {z_mm, legacy ? y_mm : x_mm, legacy ? x_mm : y_mm};
  tile = native;
  const double target_mm = how.resolution_um / 1000;
  if (!(z_mm > 0) || target_mm < 0)
    return Error(ErrorCode::invalid_argument, "resolution_um and axial_resolution_um must be above 0");
  for (std::size_t d = 0; d < 3 && target_mm > 0; ++d) {
    const double extent = static_cast<double>(native[d]);
    tile[d] = resampled_extent(native[d], spacing_mm[d], target_mm);
    if (tile[d] > 8 * native[d])
      return Error(ErrorCode::invalid_argument, fmt::format("{}: resolution_um {}: the tiles' is {} um", raw,
                                                            how.resolution_um, spacing_mm[d] * 1000));
    // What it truly is: whole pixels are not always those of the target.
    spacing_mm[d] *= extent / static_cast<double>(tile[d]);
  }
  return {};
}

const RawTile* RawSlice::at(std::uint64_t x, std::uint64_t y) const {
  const auto it =
      std::ranges::find_if(tiles, [&](const RawTile& t) { return t.x == first_x + x && t.y == first_y + y; });
  return it == tiles.end() ? nullptr : &*it;
}

}  // namespace penstock::oct
