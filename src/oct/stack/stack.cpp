#include "oct/stack/stack.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/checked.hpp"
#include "exec/budget.hpp"
#include "oct/file/names.hpp"
#include "oct/file/volume.hpp"
#include "oct/stitch/kernel.hpp"
#include "oct/work.hpp"

namespace penstock::oct {
namespace {

constexpr std::uint64_t kChunk = 100;
constexpr std::uint64_t kMaxPlanes = 1 << 20;

/// Slices with the plane of the volume that each begins at.
struct Stack {
  std::vector<Volume> slices;
  std::vector<std::string> paths;
  std::vector<std::uint64_t> first;
  std::uint64_t planes = 0, overlap = 0;
};

Result<Stack> arrange(const StepCall& call) {
  Stack s;
  PENSTOCK_ASSIGN(const auto found, slices_in(call.path(0), "slice", call.text("process")));
  const std::uint64_t first_id = found.begin()->first;
  for (const auto& [id, path] : found) {
    PENSTOCK_ASSIGN(Volume slice, open_volume(path, 3));
    if (!s.slices.empty() && (slice.shape[1] != s.slices[0].shape[1] || slice.shape[2] != s.slices[0].shape[2]))
      return Error(ErrorCode::invalid_metadata,
                   fmt::format("{}: {} rows and columns, {} has {}", path, to_string(slice.shape), s.paths[0],
                               to_string(s.slices[0].shape)))
          .set_hint("`oct common-space` makes them equal.");
    const double apart = std::nearbyint(call.number("slicing_interval_mm") / slice.spacing_mm[0]);
    const double at = apart * static_cast<double>(id - first_id);
    if (!(apart >= 1) || !(at < static_cast<double>(kMaxPlanes)))
      return Error(ErrorCode::invalid_argument, fmt::format("slicing_interval_mm {}: slices would lie {} planes apart",
                                                            call.number("slicing_interval_mm"), apart));
    s.first.push_back(static_cast<std::uint64_t>(at));
    s.overlap = std::max<std::uint64_t>(s.overlap, s.planes > s.first.back() ? s.planes - s.first.back() : 0);
    s.planes = std::max(s.planes, s.first.back() + slice.shape[0]);
    s.slices.push_back(std::move(slice));
    s.paths.push_back(path);
  }
  return s;
}

/// Part of each plane of a slice that the slice itself is, where the first `shared` lie on others: half a cosine.
std::vector<double> fade_of(std::uint64_t planes, std::uint64_t shared) {
  std::vector<double> fade(planes, 1);
  for (std::uint64_t z = 0; z < shared; ++z) {
    const double part = shared > 1 ? static_cast<double>(z) / static_cast<double>(shared - 1) : 1;
    fade[z] = 0.5 * (1 - std::cos(std::numbers::pi * part));
  }
  return fade;
}

/// Some rows of the volume, from the top down, where slices are laid on them.
Status stack_rows(const Stack& s, Array& out, const Region& box, const Tools& tools) {
  const std::uint64_t pixels = box[1].count * box[2].count;
  PENSTOCK_ASSIGN(const Tensor column, Tensor::empty(DType::float32(), {s.planes, box[1].count, box[2].count},
                                                     tools.work.stream, tools.options.memory));
  auto* const values = static_cast<float*>(column.view().data);
  PENSTOCK_TRY(run_work(tiles::Fill{values, 0}, s.planes * pixels, tools.work));
  std::uint64_t filled = 0;  // planes from the top that hold something
  for (std::size_t k = 0; k < s.slices.size(); ++k) {
    const std::uint64_t planes = s.slices[k].shape[0], first = s.first[k];
    PENSTOCK_ASSIGN_IN(const Tensor slice,
                       s.slices[k].array.read({{0, planes, 1}, box[1], box[2]}, tools.options, tools.work.stream),
                       s.paths[k]);
    const std::uint64_t shared = filled > first ? std::min(filled - first, planes) : 0;
    PENSTOCK_ASSIGN(const Numbers<double> fade, Numbers<double>::make(fade_of(planes, shared), tools.work));
    PENSTOCK_TRY(run_lanes(stitch::LaySlice{static_cast<const float*>(slice.view().data), fade.at(), planes, pixels,
                                            shared, values + first * pixels},
                           tools.work, kShortTask));
    filled = std::max(filled, first + planes);
  }
  PENSTOCK_TRY(out.write({{0, s.planes, 1}, box[1], box[2]}, column.view(), tools.options));
  return {};
}

Result<StepDone> run(const StepCall& call) {
  StepDone done;
  PENSTOCK_ASSIGN(const Stack s, arrange(call));
  const Volume& one = s.slices[0];
  VolumeSpec spec;
  spec.shape = {s.planes, one.shape[1], one.shape[2]};
  spec.chunks = {kChunk, kChunk, kChunk};
  spec.spacing_mm = one.spacing_mm;
  spec.offset_mm = {0, one.offset_mm[1], one.offset_mm[2]};
  spec.levels = call.count("n_levels");
  PENSTOCK_ASSIGN(NewVolume out, NewVolume::create(call.path(1), spec, call.force));
  // A chunk's columns at full depth, beside one slice of them.
  const std::uint64_t block_bytes = saturating_mul(3 * 4 * s.planes, kChunk * kChunk);
  PENSTOCK_TRY(for_each_object({1, one.shape[1], one.shape[2]}, {1, kChunk, kChunk}, block_bytes, "oct stack",
                               call.options, [&](const Region& box, const Options& inner) {
                                 return with_tools(call.device, "oct stack", inner, [&](const Tools& tools) {
                                   return stack_rows(s, out.array(), box, tools);
                                 });
                               }));
  PENSTOCK_TRY(out.finish(call.device, call.options));
  for (std::size_t k = 1; k < s.slices.size(); ++k)
    if (s.first[k] > s.first[k - 1] + s.slices[k - 1].shape[0])
      done.metrics.warn(fmt::format("{} planes before {} hold nothing",
                                    s.first[k] - s.first[k - 1] - s.slices[k - 1].shape[0], s.paths[k]));
  done.metrics.add("slices", s.slices.size(), "slices", "slices in the volume");
  done.metrics.add("planes", s.planes, "planes", "planes of the volume");
  done.metrics.note("device", call.device.name(), "where slices were laid on each other");
  done.metrics.add("overlap", s.overlap, "planes", "most planes that neighbours share");
  done.text = fmt::format("{}: {} x {} x {} of {} slices\n", call.path(1), s.planes, one.shape[1], one.shape[2],
                          s.slices.size());
  return done;
}

}  // namespace

Step stack_step() {
  Step step;
  step.what.name = "stack";
  step.what.summary = "slices on top of each other, blended where they overlap";
  step.what.about =
      "Slice NN begins slicing_interval_mm below the one before it, to the nearest plane; a slice that is missing "
      "leaves its "
      "place to its neighbours. Where slices overlap, the upper one fades into the lower in half a cosine.";
  step.what.arguments = {{"SLICES", "folder of slices on one image (`oct common-space`)", false},
                         {"VOLUME", "the volume to write, NAME.ome.zarr", true}};
  step.what.options = {
      number_option("slicing_interval_mm", "0.2", "distance of neighbouring slices"),
      text_option("process", "common", "which slices: what stands before .ome.zarr"),
      count_option("n_levels", "5", "levels of the pyramid, each half of the one before"),
  };
  step.what.example = "moved 3d_volume.ome.zarr --slicing-interval-mm 0.24";
  step.run = run;
  return step;
}

}  // namespace penstock::oct
