#include "oct/interface/crop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "oct/interface/crop_tiles.hpp"
#include "oct/interface/depth.hpp"
#include "oct/walk/walk.hpp"

namespace penstock::oct {
namespace {

constexpr std::uint64_t kChunk = 100;

Result<StepDone> run(const StepCall& call) {
  StepDone done;
  PENSTOCK_ASSIGN(const Volume slice, open_volume(call.path(0), 3));
  const CropOptions how = crop_options(call);
  PENSTOCK_ASSIGN_IN(const Interface found, find_interface(slice, how.search, call.device, call.options), call.path(0));
  PENSTOCK_ASSIGN(const Crop kept, crop_at(found, how, slice.shape[0], slice.spacing_mm[0]));
  const std::uint64_t first = kept.first, there = kept.there;
  VolumeSpec spec;
  spec.shape = {kept.planes, slice.shape[1], slice.shape[2]};
  spec.chunks = {kChunk, kChunk, kChunk};
  spec.spacing_mm = slice.spacing_mm;
  // Depth counts from the surface.
  spec.offset_mm = {-static_cast<double>(kept.surface - first) * spec.spacing_mm[0], slice.offset_mm[1],
                    slice.offset_mm[2]};
  spec.levels = how.levels;
  PENSTOCK_ASSIGN(NewVolume out, NewVolume::create(call.path(1), spec, call.force));
  Pass pass{"oct crop-below-interface", {there, slice.shape[1], slice.shape[2]}, out.objects()};
  pass.needs = [&](const Region& tile) { return Region{{first + tile[0].start, tile[0].count, 1}, tile[1], tile[2]}; };
  pass.make = [](const Tile& in, const Tile& made, const Workspace&) { return copy_elements(in.view, made.view); };
  PENSTOCK_ASSIGN(const Source source, source_of(slice, call.path(0), call.device, call.options));
  PENSTOCK_TRY(make_volume(source, pass, out, call.path(1), call.device, call.options));
  PENSTOCK_TRY(out.finish(call.device, call.options));
  tell_crop(kept, call.path(1), done);
  done.metrics.ran("search for the interface", call.device.name());
  done.metrics.ran("planes copied", call.device.name());
  return done;
}

}  // namespace

Step crop_step() {
  Step step;
  step.what.name = "crop-below-interface";
  step.what.summary = "cut off what lies above the tissue";
  step.what.about =
      "The interface is one plane for the whole slice: where the intensity, smoothed, rises most steeply with depth. "
      "The rise is found to a fraction of a plane and rounded.";
  step.what.arguments = {{"SLICE", "stitched slice", false}, {"CROPPED", "the slice to write, NAME.ome.zarr", true}};
  step.what.options = {
      number_option("depth_um", "300", "depth that is kept below the interface"),
      number_option("sigma_xy", "3", "standard deviation of the Gaussian across, in voxels"),
      number_option("sigma_z", "2", "the same along depth"),
      number_option("percentile_max", "", "intensities above this percentile count as it; default: as they are"),
      flag_option("use_log", "look for the interface in the logarithm of the intensity"),
      flag_option("keep_above_interface", "keep the planes above the interface too"),
      count_option("n_levels", "1", "levels of the pyramid, each half of the one before"),
      flag_option("pad_after", "add planes of 0 where fewer are there"),
      flag_option("tiles",
                  "SLICE is a mosaic grid: filters end at the edges of its tiles, and CROPPED is one too; runs as one "
                  "with steps beside it"),
      flag_option("compat", "take the whole plane of the steepest rise, as linumpy does"),
  };
  step.what.example = "slice_z00_stitch.ome.zarr slice_z00_crop.ome.zarr --depth-um 520";
  step.run = run;
  step.tiles = crop_tiles;
  return step;
}

}  // namespace penstock::oct
