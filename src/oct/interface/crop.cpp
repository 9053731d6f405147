#include "oct/interface/crop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "oct/interface/depth.hpp"
#include "oct/walk/walk.hpp"

namespace penstock::oct {
namespace {

constexpr std::uint64_t kChunk = 100;

Result<StepDone> run(const StepCall& call) {
  StepDone done;
  PENSTOCK_ASSIGN(const Volume slice, open_volume(call.path(0), 3));
  InterfaceOptions how{call.number("sigma_xy"), call.number("sigma_z")};
  how.logarithm = call.flag("use_log");
  if (call.given("percentile_max")) how.percentile_max = call.number("percentile_max");
  const double planes = std::nearbyint(call.number("depth_um") / 1000 / slice.spacing_mm[0]);
  if (!(planes >= 1)) return Error(ErrorCode::invalid_argument, "depth_um is less than a plane");
  PENSTOCK_ASSIGN(const Interface found, find_interface(slice, call.path(0), how, call.device, call.options));
  const double surface = call.flag("compat") ? static_cast<double>(found.plane) : std::floor(found.depth + 0.5);
  const auto last = static_cast<double>(slice.shape[0] - 1);
  const auto first = static_cast<std::uint64_t>(std::clamp(surface, 0.0, last));
  const std::uint64_t from = call.flag("keep_above_interface") ? 0 : first;
  const std::uint64_t wanted = first - from + static_cast<std::uint64_t>(std::min(planes, 1e9));
  const std::uint64_t there = std::min(wanted, slice.shape[0] - from);
  VolumeSpec spec;
  spec.shape = {call.flag("pad_after") ? wanted : there, slice.shape[1], slice.shape[2]};
  spec.chunks = {kChunk, kChunk, kChunk};
  spec.spacing_mm = slice.spacing_mm;
  // Depth counts from the surface.
  spec.offset_mm = {-static_cast<double>(first - from) * spec.spacing_mm[0], slice.offset_mm[1], slice.offset_mm[2]};
  spec.levels = call.count("n_levels");
  PENSTOCK_ASSIGN(NewVolume out, NewVolume::create(call.path(1), spec, call.force));
  Pass pass{"oct crop-below-interface", {there, slice.shape[1], slice.shape[2]}, out.objects()};
  pass.needs = [&](const Region& tile) { return Region{{from + tile[0].start, tile[0].count, 1}, tile[1], tile[2]}; };
  pass.make = [](const Tile& in, const Tile& made, const Workspace&) { return copy_elements(in.view, made.view); };
  PENSTOCK_ASSIGN(const Source source, source_of(slice, call.path(0), call.device, call.options));
  PENSTOCK_TRY(make_volume(source, pass, out, call.path(1), call.device, call.options));
  PENSTOCK_TRY(out.finish(call.device, call.options));
  if (there < wanted)
    done.metrics.warn(
        fmt::format("{} planes lie below the interface, {} are wanted", from + there - first, from + wanted - first));
  if (first == 0 || first == slice.shape[0] - 1)
    done.metrics.warn(fmt::format("the interface was found at the {} plane", first == 0 ? "first" : "last"));
  done.metrics.ran("search for the interface", call.device.name());
  done.metrics.ran("planes copied", call.device.name());
  done.metrics.add("interface_plane", first, "planes", "plane at which tissue begins");
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
      flag_option("use_log", "look for the interface in the logarithm of the intensity"),
      flag_option("keep_above_interface", "keep the planes above the interface too"),
      count_option("n_levels", "1", "levels of the pyramid, each half of the one before"),
      flag_option("pad_after", "add planes of 0 where fewer are there"),
      flag_option("compat", "take the whole plane of the steepest rise, as linumpy does"),
  };
  step.what.example = "slice_z00_stitch.ome.zarr slice_z00_crop.ome.zarr --depth-um 520";
  step.run = run;
  return step;
}

}  // namespace penstock::oct
