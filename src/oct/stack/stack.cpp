#include "oct/stack/stack.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numbers>

#include "oct/file/apart.hpp"
#include "oct/file/names.hpp"
#include "oct/stack/falloff.hpp"
#include "oct/walk/walk.hpp"

namespace penstock::oct {
namespace {

constexpr std::uint64_t kChunk = 100;
constexpr std::uint64_t kMaxPlanes = 1 << 20;
constexpr double kMostGap = 100;  // depths of a slice from one to the next; beyond it a unit is mistaken

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
  std::uint64_t deepest = 0;
  for (const auto& [id, path] : found) {
    PENSTOCK_ASSIGN(Volume slice, open_volume(path, 3));
    if (!s.slices.empty() && (slice.shape[1] != s.slices[0].shape[1] || slice.shape[2] != s.slices[0].shape[2]))
      return Error(ErrorCode::invalid_metadata,
                   fmt::format("{}: {} rows and columns, {} has {}", path, to_string(slice.shape), s.paths[0],
                               to_string(s.slices[0].shape)))
          .set_hint("`oct common-space` makes them equal.");
    deepest = std::max(deepest, slice.shape[0]);
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
  if (s.slices.size() > 1)
    PENSTOCK_TRY(check_interval(call.number("slicing_interval_mm"), s.slices[0].spacing_mm[0], deepest));
  return s;
}

/// The slices one after another along depth, as one source.
Result<Source> source_of_all(const Stack& s, Device device, const Options& options) {
  Source all;
  all.shape = s.slices[0].shape;
  all.chunks = s.slices[0].chunks;
  all.shape[0] = 0;
  for (std::size_t k = 0; k < s.slices.size(); ++k) {
    PENSTOCK_ASSIGN(const Source one, source_of(s.slices[k], s.paths[k], device, options));
    all.shape[0] += one.shape[0];
    all.min_read_bytes = std::max(all.min_read_bytes, one.min_read_bytes);
    for (std::size_t d = 1; d < 3; ++d) all.chunks[d] = std::max(all.chunks[d], one.chunks[d]);
  }
  all.read = [&s](const Region& region, const TensorView& into, const Options& inner) -> Result<Report> {
    Report sum;
    std::uint64_t from = 0;  // the slice's first plane
    for (std::size_t k = 0; k < s.slices.size(); ++k) {
      const std::uint64_t planes = s.slices[k].shape[0];
      const std::uint64_t first = std::max(region[0].start, from);
      const std::uint64_t last = std::min(region[0].start + region[0].count, from + planes);
      if (first < last) {
        const Region part = {{first, last - first, 1}, region[1], region[2]};
        PENSTOCK_ASSIGN(const TensorView to, part_of_box(into, region, part));
        PENSTOCK_ASSIGN_IN(const Report read,
                           s.slices[k].array.read({{first - from, last - first, 1}, region[1], region[2]}, to, inner),
                           s.paths[k]);
        sum.merge(read);
      }
      from += planes;
    }
    return sum;
  };
  return all;
}

/// How slices lie over each other, as the kernel wants it.
struct Layers {
  std::vector<stack::SliceInStack> slices;
  std::vector<float> weights;

  explicit Layers(const Stack& s) {
    std::uint64_t from = 0, filled = 0;
    for (std::size_t k = 0; k < s.slices.size(); ++k) {
      const std::uint64_t first = s.first[k], planes = s.slices[k].shape[0];
      const std::uint64_t shared = filled > first ? std::min(filled - first, planes) : 0;
      slices.push_back({first, planes, from, shared, weights.size()});
      for (std::uint64_t z = 0; z < shared; ++z) {
        const double part = shared > 1 ? static_cast<double>(z) / static_cast<double>(shared - 1) : 1;
        weights.push_back(static_cast<float>(0.5 * (1 - std::cos(std::numbers::pi * part))));
      }
      from += planes;
      filled = std::max(filled, first + planes);
    }
  }
};

/// Columns at full depth from all slices at once, which grow dark with depth by `falloff`.
Status stack_all(const StepCall& call, const Stack& s, const Source& source, const Layers& layers, double falloff,
                 NewVolume& out) {
  std::uint64_t deepest = 0;
  for (const Volume& slice : s.slices) deepest = std::max(deepest, slice.shape[0]);
  Numbers<stack::SliceInStack> slices;
  Numbers<float> weights, gains;
  PENSTOCK_TRY(with_tools(call.device, "oct stack", call.options, [&](const Tools& tools) -> Status {
    PENSTOCK_ASSIGN(slices, Numbers<stack::SliceInStack>::make(layers.slices, tools.work));
    PENSTOCK_ASSIGN(weights, Numbers<float>::make(layers.weights, tools.work));
    PENSTOCK_ASSIGN(gains, Numbers<float>::make(depth_gains(falloff, deepest), tools.work));
    return {};
  }));
  Pass pass{"oct stack", {s.planes, source.shape[1], source.shape[2]}, {s.planes, kChunk, kChunk}};
  pass.needs = [&](const Region& tile) { return Region{{0, source.shape[0], 1}, tile[1], tile[2]}; };
  pass.make = [&](const Tile& in, const Tile& made, const Workspace& work) {
    const stack::StackSlices stack{const_box(in.view), static_cast<float*>(made.view.data),
                                   slices.at(),        s.slices.size(),
                                   weights.at(),       gains.at()};
    return run_work(stack, s.planes * stack.in.columns(), work);
  };
  return make_volume(source, pass, out, call.path(1), call.device, call.options);
}

Result<StepDone> run(const StepCall& call) {
  StepDone done;
  PENSTOCK_ASSIGN(const Stack s, arrange(call));
  for (const std::string& path : s.paths) PENSTOCK_TRY(check_apart(call.path(1), path));
  const Volume& one = s.slices[0];
  VolumeSpec spec;
  spec.shape = {s.planes, one.shape[1], one.shape[2]};
  spec.chunks = {kChunk, kChunk, kChunk};
  spec.spacing_mm = one.spacing_mm;
  spec.offset_mm = {0, one.offset_mm[1], one.offset_mm[2]};
  spec.levels = call.count("n_levels");
  PENSTOCK_ASSIGN(NewVolume out, NewVolume::create(call.path(1), spec, call.force));
  PENSTOCK_ASSIGN(Source source, source_of_all(s, call.device, call.options));
  std::atomic<std::uint64_t> read_bytes{0};
  source.read = [&read_bytes, all = std::move(source.read)](const Region& region, const TensorView& into,
                                                            const Options& inner) {
    read_bytes += 4 * region[0].count * region[1].count * region[2].count;
    return all(region, into, inner);
  };
  const Layers layers(s);
  std::optional<double> falloff;
  if (!call.flag("keep_falloff") && s.slices.size() > 1) {
    PENSTOCK_ASSIGN(falloff, measure_falloff(source, layers.slices, call.device, call.options));
    if (!falloff) done.metrics.warn("no slices share planes that say how dark they grow with depth; it is kept");
  }
  PENSTOCK_TRY(stack_all(call, s, source, layers, falloff.value_or(0), out));
  PENSTOCK_TRY(out.finish(call.device, call.options));
  for (std::size_t k = 1; k < s.slices.size(); ++k)
    if (s.first[k] > s.first[k - 1] + s.slices[k - 1].shape[0])
      done.metrics.warn(fmt::format("{} planes before {} hold nothing",
                                    s.first[k] - s.first[k - 1] - s.slices[k - 1].shape[0], s.paths[k]));
  done.metrics.ran("slices laid and blended", call.device.name());
  done.metrics.add("slices", s.slices.size(), "slices", "slices in the volume");
  done.metrics.add("planes", s.planes, "planes", "planes of the volume");
  done.metrics.add("overlap", s.overlap, "planes", "most planes that neighbours share");
  done.metrics.add("read_bytes", read_bytes.load(), "bytes",
                   "elements that were read; twice all slices where the falloff is evened out");
  done.metrics.add("written_bytes", 4 * s.planes * one.shape[1] * one.shape[2], "bytes",
                   "elements of the volume that were written, without coarser levels");
  done.metrics.add("falloff", falloff.value_or(0), "1/plane", "by which slices grow dark with depth, evened out");
  done.text = fmt::format("{}: {} x {} x {} of {} slices\n", call.path(1), s.planes, one.shape[1], one.shape[2],
                          s.slices.size());
  return done;
}

}  // namespace

Status check_interval(double interval_mm, double plane_mm, std::uint64_t planes) {
  const double apart = std::nearbyint(interval_mm / plane_mm);
  if (apart >= 1 && apart <= kMostGap * static_cast<double>(planes)) return {};
  return Error(ErrorCode::invalid_argument,
               fmt::format("slicing_interval_mm {}: slices would lie {} planes apart; they have {} of {:.6g} mm each",
                           interval_mm, apart, planes, plane_mm))
      .set_hint("slicing_interval_mm is in millimetres.");
}

Step stack_step() {
  Step step;
  step.what.name = "stack";
  step.what.summary = "slices on top of each other, blended where they overlap";
  step.what.about =
      "Slice NN begins slicing_interval_mm below the one before it, to the nearest plane; a slice that is missing "
      "leaves its place to its neighbours. Slices grow dark with depth: by how much is seen where they overlap, deep "
      "in the upper and shallow in the lower one, and evened out for all planes of all slices. Then the upper slice "
      "fades into the lower in half a cosine.";
  step.what.arguments = {{"SLICES", "folder of slices on one image (`oct common-space`)", false},
                         {"VOLUME", "the volume to write, NAME.ome.zarr", true}};
  step.what.options = {
      number_option("slicing_interval_mm", "0.2", "distance of neighbouring slices"),
      text_option("process", "common", "which slices: what stands before .ome.zarr"),
      count_option("n_levels", "5", "levels of the pyramid, each half of the one before"),
      flag_option("keep_falloff", "let slices be as dark with depth as they are"),
  };
  step.what.example = "moved 3d_volume.ome.zarr --slicing-interval-mm 0.24";
  step.run = run;
  return step;
}

}  // namespace penstock::oct
