// Which planes a crop keeps, and the crop of a mosaic grid, tile by tile.
#pragma once
#include <memory>
#include <string>

#include "oct/interface/depth.hpp"
#include "oct/step.hpp"

namespace penstock::oct {

struct CropOptions {
  InterfaceOptions search;
  double depth_um = 300;
  bool pad_after = false;    ///< add planes of 0 where fewer are there
  bool keep_above = false;   ///< the planes above the interface too
  std::uint64_t levels = 1;  ///< of the pyramid
  bool whole_plane = false;  ///< the plane of the steepest rise, not the nearest to its fraction
};
CropOptions crop_options(const StepCall& call);

/// Tissue begins at the plane `surface`; the planes [first, first + there) are kept, and `planes` written.
struct Crop {
  Interface found;
  std::uint64_t surface = 0, first = 0, there = 0, wanted = 0, planes = 0, of = 0;
};
/// Errors: invalid_argument (depth_um is less than a plane).
Result<Crop> crop_at(const Interface& found, const CropOptions& how, std::uint64_t depth, double spacing_mm);
void tell_crop(const Crop& crop, const std::string& path, StepDone& done);

/// nullptr: `tiles` is not asked for.
Result<std::unique_ptr<TileStep>> crop_tiles(const StepCall& call);

}  // namespace penstock::oct
