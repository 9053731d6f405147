#include "oct/run.hpp"

#include <fmt/format.h>

#include "core/guard.hpp"
#include "core/suggest.hpp"
#include "oct/file/apart.hpp"
#include "oct/file/names.hpp"
#include "oct/file/small_file.hpp"
#include "oct/list.hpp"
#include "oct/memory.hpp"
#include "oct/tiles/run.hpp"

namespace penstock {
namespace oct {
namespace {

Result<StepDone> do_step(const Step& step, const StepCall& call) try {
  if (step.tiles == nullptr) return step.run(call);
  PENSTOCK_ASSIGN(std::unique_ptr<TileStep> tiles, step.tiles(call));
  return tiles ? run_tile_step(call, std::move(tiles)) : step.run(call);
} catch (const NoSuchOption& missing) {
  return Error(ErrorCode::invalid_argument,
               fmt::format("oct {} needs the option '{}', which it has no value for", step.what.name, missing.name));
}

/// No image that is written takes away what is read.
Status check_paths(const Step& step, const StepCall& call) {
  const std::vector<OctArgument>& arguments = step.what.arguments;
  for (std::size_t to = 0; to < arguments.size(); ++to) {
    if (!arguments[to].output || !call.path(to).ends_with(".zarr")) continue;
    for (std::size_t from = 0; from < arguments.size(); ++from) {
      if (arguments[from].output || (step.in_place && is_same_place(call.path(to), call.path(from)))) continue;
      PENSTOCK_TRY(check_apart(call.path(to), call.path(from)));
    }
  }
  return {};
}

}  // namespace

Result<StepRun> run_step(const Step& step, const OctCall& call, const Options& options) {
  PENSTOCK_ASSIGN(StepCall read, StepCall::make(step.what, call, options));
  PENSTOCK_TRY(check_paths(step, read));
  PENSTOCK_ASSIGN(read.options, StepMemory::options(call.device, options));
  PENSTOCK_ASSIGN(StepDone done, do_step(step, read));
  done.metrics.note("peak_memory_bytes", read.options.memory->peak_bytes(),
                    "the most that was held at once where it worked");
  std::string json = dump_json(done.metrics.document(step.what.name), 2) + "\n";
  for (std::size_t i = 0; i < step.what.arguments.size(); ++i)
    if (step.what.arguments[i].output && done.wrote)
      PENSTOCK_TRY(write_small(metrics_path(read.path(i), step.what.name), as_bytes(json)));
  return StepRun{std::move(done), std::move(json)};
}

}  // namespace oct

const std::vector<OctStep>& oct_steps() {
  static const std::vector<OctStep> list = [] {
    std::vector<OctStep> made;
    for (const oct::Step& step : oct::steps()) made.push_back(step.what);
    return made;
  }();
  return list;
}

Result<OctResult> run_oct(const OctCall& call, const Options& options) {
  return guarded([&]() -> Result<OctResult> {
    const oct::Step* step = oct::find_step(call.step);
    if (step == nullptr) {
      std::vector<std::string> known;
      for (const OctStep& each : oct_steps()) known.push_back(each.name);
      return Error(ErrorCode::invalid_argument,
                   fmt::format("no step '{}'.{}", call.step, did_you_mean(call.step, known)));
    }
    PENSTOCK_ASSIGN(oct::StepRun run, oct::run_step(*step, call, options));
    return OctResult{std::move(run.done.text), std::move(run.json), run.done.good, run.done.metrics.warnings()};
  });
}

}  // namespace penstock
