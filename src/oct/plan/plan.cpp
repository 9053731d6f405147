#include "oct/plan/plan.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "core/units.hpp"
#include "oct/file/apart.hpp"
#include "oct/file/names.hpp"
#include "oct/file/small_file.hpp"
#include "oct/plan/steps_file.hpp"
#include "oct/run.hpp"
#include "oct/tiles/run.hpp"

namespace penstock::oct {
namespace {

/// Steps that run as one: the last one's output is written, nothing between.
struct Group {
  std::span<const FileStep> steps;
  [[nodiscard]] bool fused() const { return steps.size() > 1; }
  [[nodiscard]] const std::string& in() const { return steps.front().in(); }
  [[nodiscard]] const std::string& out() const { return steps.back().out(); }
};

/// The step's work on tiles; nullptr: it does not work so.
Result<std::unique_ptr<TileStep>> tiles_of_step(const FileStep& step, const Options& options) {
  if (step.step->tiles == nullptr) return std::unique_ptr<TileStep>();
  OctCall call = step.call;
  call.paths = {"in", "out"};  // of what lies between
  PENSTOCK_ASSIGN(const StepCall read, StepCall::make(step.step->what, call, options));
  PENSTOCK_ASSIGN_IN(auto tiles, step.step->tiles(read), step.place);
  return tiles;
}

Result<std::vector<Group>> group(const std::vector<FileStep>& steps, const Options& options) {
  std::vector<Group> groups;
  std::size_t first = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].out().empty()) continue;
    groups.push_back({std::span(steps).subspan(first, i + 1 - first)});
    first = i + 1;
  }
  for (const Group& g : groups)
    for (const FileStep& step : g.steps) {
      if (!g.fused()) continue;
      PENSTOCK_ASSIGN(const std::unique_ptr<TileStep> tiles, tiles_of_step(step, options));
      if (tiles) continue;
      const bool could = step.step->tiles != nullptr;
      return Error(ErrorCode::invalid_argument,
                   fmt::format("{}: step {} does not work tile by tile{}, so it is not one with its neighbours",
                               step.place, step.call.step, could ? " without tiles = true" : ""))
          .set_hint("Say where what it reads, and what it makes, is written: output = \"NAME.ome.zarr\".");
    }
  return groups;
}

/// No image is written twice, nor over one that the steps read: they would not find it another time.
Status check_outputs(std::span<const Group> groups) {
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const Group& g = groups[i];
    const FileStep& last = g.steps.back();
    if (!g.out().ends_with(".zarr") || (last.step->in_place && is_same_place(g.out(), g.in()))) continue;
    for (const Group& before : groups.first(i + 1)) {
      PENSTOCK_TRY_IN(check_apart(g.out(), before.in()), last.place);
      if (&before != &g && is_same_place(g.out(), before.out()))
        return Error(ErrorCode::invalid_argument,
                     fmt::format("{}: {}: {} writes it already", last.place, g.out(), before.steps.back().place))
            .set_hint("Write to another path.");
    }
  }
  return {};
}

/// What a group will read and write.
struct GroupForecast {
  TileForecast as_one;
  TileTraffic one_by_one;
};

Result<GroupForecast> forecast(const Group& group, const Tiles& in, const Options& options) {
  std::vector<TileStage> all;
  GroupForecast made;
  Tiles tiles = in;
  for (const FileStep& step : group.steps) {
    PENSTOCK_ASSIGN(std::unique_ptr<TileStep> alone, tiles_of_step(step, options));
    TileStage stage{std::move(alone)};
    PENSTOCK_ASSIGN_IN(const TileForecast one, forecast_tiles(tiles, std::span(&stage, 1), options), step.place);
    made.one_by_one.read_bytes += one.traffic.read_bytes;
    made.one_by_one.written_bytes += one.traffic.written_bytes;
    tiles = one.out;
    PENSTOCK_ASSIGN(std::unique_ptr<TileStep> again, tiles_of_step(step, options));
    all.push_back({std::move(again)});
  }
  PENSTOCK_ASSIGN(made.as_one, forecast_tiles(in, all, options));
  return made;
}

std::string in_words(const Group& group, const GroupForecast& f, const Tiles& in) {
  std::string text;
  for (std::size_t i = 0; i < group.steps.size(); ++i) {
    const std::uint32_t looks = f.as_one.looks[i];
    text += fmt::format("  {:<22}{}\n", group.steps[i].call.step,
                        looks == 0   ? "a tile at a time"
                        : looks == 1 ? "looks at all tiles once, then a tile at a time"
                                     : fmt::format("looks at all tiles {} times, then a tile at a time", looks));
  }
  text += fmt::format("  {} tiles of {} become {} at most; {} of tiles are kept between looks\n", in.grid.count(),
                      to_string(in.tile()), to_string(f.as_one.out.tile()), format_bytes(f.as_one.kept_bytes));
  const TileTraffic &one = f.as_one.traffic, &each = f.one_by_one;
  text += fmt::format("  reads {}, writes {}", format_bytes(one.read_bytes), format_bytes(one.written_bytes));
  if (!group.fused()) return text + "\n";
  const std::uint64_t saved = each.read_bytes + each.written_bytes - one.read_bytes - one.written_bytes;
  return text + fmt::format("; one by one: reads {}, writes {}; saved {}\n", format_bytes(each.read_bytes),
                            format_bytes(each.written_bytes), format_bytes(saved));
}

Result<StepDone> explain(const std::vector<Group>& groups, const StepCall& call) {
  StepDone done;
  done.wrote = false;
  std::map<std::string, Tiles> known;  // what groups before will have made
  TileTraffic as_one, one_by_one;
  for (const Group& g : groups) {
    done.text += g.in() + "\n";
    PENSTOCK_ASSIGN(const std::unique_ptr<TileStep> tiles, tiles_of_step(g.steps.front(), call.options));
    std::optional<Tiles> in;
    if (const auto before = known.find(g.in()); before != known.end()) {
      in = before->second;
    } else if (tiles) {
      PENSTOCK_ASSIGN(const bool there, small_exists(g.in() + "/zarr.json"));
      if (there || &g == &groups.front()) {
        PENSTOCK_ASSIGN(const Volume mosaic, open_volume(g.in(), 3));
        PENSTOCK_ASSIGN(in, tiles_of(mosaic, g.in()));
      }
    }
    if (tiles && in) {
      PENSTOCK_ASSIGN_IN(const GroupForecast f, forecast(g, *in, call.options), g.in());
      done.text += in_words(g, f, *in);
      known[g.out()] = f.as_one.out;
      as_one.read_bytes += f.as_one.traffic.read_bytes, as_one.written_bytes += f.as_one.traffic.written_bytes;
      one_by_one.read_bytes += f.one_by_one.read_bytes, one_by_one.written_bytes += f.one_by_one.written_bytes;
    } else {
      for (const FileStep& step : g.steps) done.text += fmt::format("  {:<22}by itself\n", step.call.step);
    }
    done.text += fmt::format("-> {}\n", g.out());
  }
  done.metrics.add("groups", groups.size(), "", "runs over the tiles; the steps of one are done as one");
  done.metrics.add("read_bytes", as_one.read_bytes, "bytes",
                   "elements that will be read, of steps that work tile by tile");
  done.metrics.add("written_bytes", as_one.written_bytes, "bytes", "the same, written, at most");
  done.metrics.add("one_by_one_read_bytes", one_by_one.read_bytes, "bytes", "the same, were they run one by one");
  done.metrics.add("one_by_one_written_bytes", one_by_one.written_bytes, "bytes", "the same, written, at most");
  return done;
}

/// A fused group: one run over the tiles, and the metrics of each step.
Result<TileTraffic> run_fused(const Group& group, const StepCall& call, StepDone& done) {
  std::vector<TileStage> stages;
  Json names = Json::array();
  for (const FileStep& step : group.steps) {
    PENSTOCK_ASSIGN(std::unique_ptr<TileStep> tiles, tiles_of_step(step, call.options));
    stages.push_back({std::move(tiles)});
    names.push_back(step.call.step);
  }
  PENSTOCK_ASSIGN(const TileTraffic traffic,
                  run_tiles(group.in(), group.out(), stages, call.force, call.device, call.options));
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const std::string& name = group.steps[i].call.step;
    StepDone& one = stages[i].done;
    note_traffic(traffic, call.device, one.metrics);
    one.metrics.note("run_as_one", names, "steps that read and write together");
    for (const std::string& warning : one.metrics.warnings()) done.metrics.warn(name + ": " + warning);
    done.text += fmt::format("{}: {}", name, one.text);
    PENSTOCK_TRY(
        write_small(metrics_path(group.out(), name), as_bytes(dump_json(one.metrics.document(name), 2) + "\n")));
  }
  return traffic;
}

Result<StepDone> run_groups(const std::vector<Group>& groups, const StepCall& call) {
  StepDone done;
  for (const Group& g : groups)
    if (g.out().ends_with(".zarr")) PENSTOCK_TRY_IN(NewVolume::check(g.out(), call.force), g.steps.back().place);
  std::uint64_t read = 0, written = 0;
  for (const Group& g : groups) {
    if (g.fused()) {
      PENSTOCK_ASSIGN_IN(const TileTraffic traffic, run_fused(g, call, done), g.steps.front().place);
      read += traffic.read_bytes, written += traffic.written_bytes;
      continue;
    }
    OctCall one = g.steps.front().call;
    one.device = call.device;
    one.force = call.force;
    PENSTOCK_ASSIGN_IN(const StepRun run, run_step(*g.steps.front().step, one, call.options), g.steps.front().place);
    for (const std::string& warning : run.done.metrics.warnings()) done.metrics.warn(one.step + ": " + warning);
    done.text += run.done.text.empty() ? fmt::format("{}: done\n", g.out()) : run.done.text;
    for (const auto& [name, sum] : {std::pair("read_bytes", &read), std::pair("written_bytes", &written)})
      if (const auto bytes = metric(run.json, name); bytes && bytes->is_number_unsigned())
        *sum += bytes->get<std::uint64_t>();
  }
  done.metrics.add("groups", groups.size(), "", "runs over the tiles; the steps of one are done as one");
  done.metrics.add("read_bytes", read, "bytes", "elements that were read, of steps that work tile by tile");
  done.metrics.add("written_bytes", written, "bytes", "the same, written");
  done.metrics.note("device", call.device.name(), "where tiles were worked on");
  done.text += fmt::format("read {}, wrote {} of tiles\n", format_bytes(read), format_bytes(written));
  return done;
}

Result<StepDone> read_and(const StepCall& call, Result<StepDone> (*what)(const std::vector<Group>&, const StepCall&)) {
  PENSTOCK_ASSIGN(const Bytes bytes, read_small(call.path(0)));
  PENSTOCK_ASSIGN(const std::vector<FileStep> steps, parse_steps(as_text(bytes), call.path(0)));
  PENSTOCK_ASSIGN(const std::vector<Group> groups, group(steps, call.options));
  PENSTOCK_TRY(check_outputs(groups));
  return what(groups, call);
}

Result<StepDone> run(const StepCall& call) { return read_and(call, call.flag("dry_run") ? explain : run_groups); }
Result<StepDone> run_explain(const StepCall& call) { return read_and(call, explain); }

constexpr const char* kFile =
    "STEPS is TOML: input and output, then [[step]] with the name of each and its options (name = \"resample-mosaic\", "
    "resolution_um = 20). A step takes what the one before it made. What it makes is written where the step says "
    "output; steps without it work tile by tile, and are done as one with the next: each tile is read once and stays "
    "where it is worked on. Paths count from the current folder.";

}  // namespace

Step run_steps_step() {
  Step step;
  step.what.name = "run";
  step.what.summary = "the steps of a file, neighbours that work tile by tile as one";
  step.what.about = std::string(kFile) + " The result is the same as of the steps one by one.";
  step.what.arguments = {{"STEPS", "file of steps, NAME.toml", false}};
  step.what.options = {flag_option("dry_run", "run nothing, say what would be read and written (`oct explain`)")};
  step.what.example = "steps.toml";
  step.run = run;
  return step;
}

Step explain_steps_step() {
  Step step;
  step.what.name = "explain";
  step.what.summary = "what `oct run` would do: which steps are done as one, and the bytes that saves";
  step.what.about = kFile;
  step.what.arguments = {{"STEPS", "file of steps, NAME.toml", false}};
  step.what.example = "steps.toml";
  step.run = run_explain;
  return step;
}

}  // namespace penstock::oct
