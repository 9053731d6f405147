#include "oct/interface/crop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "oct/interface/depth.hpp"

namespace penstock::oct {
namespace {

constexpr std::uint64_t kChunk = 100;

Result<StepDone> run(const StepCall& call) {
  StepDone done;
  PENSTOCK_ASSIGN(const Volume slice, open_volume(call.path(0), 3));
  InterfaceOptions how{call.number("sigma_xy"), call.number("sigma_z"), {}};
  if (call.given("percentile_max")) how.percentile_max = call.number("percentile_max");
  const double planes = std::nearbyint(call.number("depth_um") / 1000 / slice.spacing_mm[0]);
  if (!(planes >= 1)) return Error(ErrorCode::invalid_argument, "depth_um is less than a plane");
  PENSTOCK_ASSIGN_IN(const Interface found, find_interface(slice, how, call.device, call.options), call.path(0));
  const double surface = call.flag("compat") ? static_cast<double>(found.plane) : std::floor(found.depth + 0.5);
  const auto last = static_cast<double>(slice.shape[0] - 1);
  const auto first = static_cast<std::uint64_t>(std::clamp(surface, 0.0, last));
  const auto wanted = static_cast<std::uint64_t>(std::min(planes, 1e9));
  const std::uint64_t there = std::min(wanted, slice.shape[0] - first);
  VolumeSpec spec;
  spec.shape = {call.flag("pad_after") ? wanted : there, slice.shape[1], slice.shape[2]};
  spec.chunks = {kChunk, kChunk, kChunk};
  spec.spacing_mm = slice.spacing_mm;
  spec.offset_mm = {0, slice.offset_mm[1], slice.offset_mm[2]};  // depth counts from the surface
  PENSTOCK_ASSIGN(NewVolume out, NewVolume::create(call.path(1), spec, call.force));
  const auto copy_columns = [&](const Region& box, const Options& inner) -> Status {
    PENSTOCK_ASSIGN_IN(const Block block, read_block(slice.array, {{first, there, 1}, box[1], box[2]}, inner),
                       call.path(0));
    PENSTOCK_TRY_IN(write_block(out.array(), {{0, there, 1}, box[1], box[2]}, block.values, inner), call.path(1));
    return {};
  };
  PENSTOCK_TRY(for_each_object({1, slice.shape[1], slice.shape[2]}, {1, kChunk, kChunk},
                               3 * 4 * there * kChunk * kChunk, "oct crop-below-interface", call.options,
                               copy_columns));
  PENSTOCK_TRY(out.finish(call.device, call.options));
  if (there < wanted) done.metrics.warn(fmt::format("{} planes lie below the interface, {} are wanted", there, wanted));
  if (first == 0 || first == slice.shape[0] - 1)
    done.metrics.warn(fmt::format("the interface was found at the {} plane", first == 0 ? "first" : "last"));
  done.metrics.add("interface_plane", first, "planes", "first plane that is kept");
  done.metrics.add("interface_depth", found.depth, "planes", "the steepest rise, with its fraction");
  done.metrics.add("planes", spec.shape[0], "planes", "planes that are kept");
  done.text = fmt::format("{}: interface at plane {} ({:.2f}), {} planes kept\n", call.path(1), first, found.depth,
                          spec.shape[0]);
  return done;
}

}  // namespace

Step crop_step() {
  Step step;
  step.what.name = "crop-below-interface";
  step.what.summary = "cut off what lies above the tissue";
  step.what.about =
      "The interface is one plane for the whole slice: where the intensity, smoothed, rises most steeply with depth. "
      "The "
      "rise is found to a fraction of a plane and rounded.";
  step.what.arguments = {{"SLICE", "stitched slice", false}, {"CROPPED", "the slice to write, NAME.ome.zarr", true}};
  step.what.options = {
      number_option("depth_um", "300", "depth that is kept below the interface"),
      number_option("sigma_xy", "3", "standard deviation of the Gaussian across, in voxels"),
      number_option("sigma_z", "2", "the same along depth"),
      number_option("percentile_max", "", "intensities above this percentile count as it; default: as they are"),
      flag_option("pad_after", "add planes of 0 where fewer are there"),
      flag_option("compat", "take the whole plane of the steepest rise, as linumpy does"),
  };
  step.what.example = "slice_z00_stitch.ome.zarr slice_z00_crop.ome.zarr --depth-um 520";
  step.run = run;
  return step;
}

}  // namespace penstock::oct
