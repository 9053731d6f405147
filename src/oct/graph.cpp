#include "oct/graph.hpp"

#include <fmt/format.h>

#include <chrono>
#include <set>

#include "oct/file/names.hpp"
#include "oct/file/run_lock.hpp"
#include "oct/file/small_file.hpp"
#include "oct/list.hpp"
#include "oct/reconstruct/check.hpp"
#include "oct/reconstruct/results.hpp"
#include "oct/reconstruct/settings.hpp"
#include "oct/run.hpp"

namespace penstock::oct {

std::span<const SliceStep> slice_steps() {
  static const std::vector<SliceStep> list = {
      {"mosaic", "RAW", "mosaic_grid_zNN.ome.zarr", {}},
      {"fix-illumination", "mosaic_grid_zNN.ome.zarr", "mosaic_grid_zNN_illum.ome.zarr", {}},
      {"aip", "mosaic_grid_zNN_illum.ome.zarr", "mosaic_grid_zNN_aip.ome.zarr", {}},
      {"estimate-transform", "mosaic_grid_zNN_aip.ome.zarr", "mosaic_grid_zNN_transform.npy", {}},
      {"stitch",
       "mosaic_grid_zNN_illum.ome.zarr",
       "slice_zNN_stitch.ome.zarr",
       {{"transform", "mosaic_grid_zNN_transform.npy"}}},
      {"crop-below-interface", "slice_zNN_stitch.ome.zarr", "slice_zNN_crop.ome.zarr", {}},
  };
  return list;
}

namespace {

/// One run of all steps.
class Reconstruction {
 public:
  Reconstruction(const StepCall& call, StepDone& done, const RunPlan& plan)
      : call_(call),
        done_(done),
        out_(call.path(1)),
        settings_(RunSettings::of(call, plan.positions)),
        left_out_(plan.left_out) {
    for (const SlicePosition& p : plan.positions) slices_.push_back(p.slice);
    for (const std::string& warning : plan.warnings) done_.metrics.warn(warning);
    made_ = RunResults(out_, slices_);
  }

  Status run_all() {
    PENSTOCK_ASSIGN(const RunLock alone, RunLock::take(out_));
    PENSTOCK_TRY(begin());
    for (const std::uint64_t slice : slices_)
      for (const SliceStep& step : slice_steps()) PENSTOCK_TRY(run_slice_step(step, slice));
    PENSTOCK_TRY(
        run_one("common-space", {out_, out_},
                {{"shifts", call_.text("shifts")}, {"missing_slices", "true"}},  // which may be missing is checked
                // Of the slices the last one is written last.
                made_.common(slices_.back()), [&] { return made_.forget_common(); }));
    PENSTOCK_TRY(run_one("stack", {out_, made_.volume()}, {{"slicing_interval_mm", number("slicing_interval_mm")}},
                         made_.volume(), [&] { return made_.forget_volume(); }));
    if (call_.flag("report"))
      PENSTOCK_TRY(run_one("report", {out_}, {}, made_.report(), [&] { return made_.forget_report(); }));
    done_.metrics.add("slices", slices_.size(), "slices", "slices that were found");
    done_.metrics.note("seconds", seconds_, "of each step, over all slices");
    return {};
  }

 private:
  [[nodiscard]] std::string number(std::string_view name) const { return fmt::format("{}", call_.number(name)); }

  /// The folder becomes that of this run: what is kept in it are results of the same settings.
  Status begin() const {
    PENSTOCK_ASSIGN(const bool there, small_exists(made_.settings()));
    if (call_.force) {
      for (const std::uint64_t slice : slices_) PENSTOCK_TRY(made_.forget_slice(slice, slice_steps()));
      PENSTOCK_TRY(made_.erase_other_slices());
    } else if (!there) {
      PENSTOCK_TRY(made_.check_empty());
    } else {
      PENSTOCK_ASSIGN(const bool same, same_places());
      if (same) return {};
      PENSTOCK_TRY(made_.forget_common());
      PENSTOCK_TRY(made_.erase_other_slices());
    }
    // What is replaced is forgotten before the new settings stand there: --resume must not take it for theirs.
    return write_small(made_.settings(), as_bytes(settings_.text()));
  }

  /// Whether slices lie where they did; an error where the results are of other settings.
  [[nodiscard]] Result<bool> same_places() const {
    const std::string path = made_.settings();
    if (!call_.flag("resume"))
      return Error(ErrorCode::already_exists, fmt::format("{}: holds a reconstruction", out_))
          .set_hint("--resume goes on with it, --force begins it anew.");
    PENSTOCK_ASSIGN(const Bytes bytes, read_small(path));
    PENSTOCK_ASSIGN_IN(const RunSettings before, RunSettings::parse(as_text(bytes)), path);
    if (const std::string other = settings_.difference(before); !other.empty())
      return Error(ErrorCode::already_exists, fmt::format("{}: a reconstruction with other options: {}", path, other))
          .set_hint("--force begins it anew.");
    PENSTOCK_ASSIGN(const auto others, made_.other_slices());
    for (const auto& [slice, image] : others)
      if (!left_out_.contains(slice))
        return Error(ErrorCode::already_exists,
                     fmt::format("{}: no tiles of its slice are in {} any more", image, call_.path(0)))
            .set_hint("Put them back or take it away; --force begins anew with the slices that are there.");
    return others.empty() && before.positions_mm == settings_.positions_mm;
  }

  Status run_slice_step(const SliceStep& step, std::uint64_t slice) {
    std::map<std::string, std::string> options;
    for (const auto& [name, value] : step.options) options[name] = made_.of_slice(value, slice);
    if (step.step == "mosaic") {
      options["slice"] = std::to_string(slice);
      options["resolution_um"] = number("resolution_um");
      options["axial_resolution_um"] = number("axial_resolution_um");
    }
    if (step.step == "crop-below-interface") options["depth_um"] = number("depth_um");
    const std::string in = step.in == "RAW" ? call_.path(0) : made_.of_slice(step.in, slice);
    const std::string out = made_.of_slice(step.out, slice);
    const auto from = static_cast<std::size_t>(&step - slice_steps().data());
    return run_one(step.step, {in, out}, options, out,
                   [&] { return made_.forget_slice(slice, slice_steps().subspan(from)); });
  }

  /// `result`: what stands when the step is complete.  `forget`: of it, and of what was made of it; a run that is
  /// stopped after it leaves nothing that --resume would take for made of the new one.
  template <class Forget>
  Status run_one(std::string_view name, std::vector<std::string> paths, std::map<std::string, std::string> options,
                 const std::string& result, const Forget& forget) {
    const std::string told = paths.size() > 1 ? metrics_path(paths.back(), name) : result;
    PENSTOCK_ASSIGN(const bool complete, made_.complete(result, told));
    if (complete && !call_.force && call_.flag("resume")) {
      done_.text += result + ": kept\n";
      return {};
    }
    PENSTOCK_TRY(forget());
    const auto start = std::chrono::steady_clock::now();
    OctCall call{std::string(name), std::move(paths), std::move(options), call_.device, true};
    PENSTOCK_ASSIGN_IN(const StepRun run, run_step(*find_step(name), call, call_.options), name);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    seconds_[call.step] = seconds_.value(call.step, 0.0) + seconds;
    for (const std::string& warning : run.done.metrics.warnings())
      done_.metrics.warn(fmt::format("{}: {}", result, warning));
    done_.text += run.done.text.empty() ? result + "\n" : run.done.text;
    return {};
  }

  const StepCall& call_;
  StepDone& done_;
  std::string out_;
  RunSettings settings_;
  std::set<std::uint64_t> left_out_;   // slices that are not to be used
  std::vector<std::uint64_t> slices_;  // ascending
  RunResults made_{{}, {}};
  Json seconds_ = Json::object();
};

Result<StepDone> run(const StepCall& call) {
  StepDone done;
  PENSTOCK_ASSIGN(const RunPlan plan, check_reconstruction(call));
  PENSTOCK_TRY(Reconstruction(call, done, plan).run_all());
  return done;
}

}  // namespace

Step reconstruct_step() {
  Step step;
  step.what.name = "reconstruct";
  step.what.summary = "raw tiles to a volume: all steps, one after another";
  step.what.about =
      "For each slice mosaic, fix-illumination, aip, estimate-transform, stitch and crop-below-interface; then "
      "common-space and stack. OUT gets what each step writes, under the same names as when the steps are run by "
      "themselves, and 3d_volume.ome.zarr.";
  step.what.arguments = {{"RAW", "folder of raw tiles", false}, {"OUT", "folder for the results", true}};
  step.what.options = {
      number_option("resolution_um", "10", "voxel size to resample to"),
      number_option("axial_resolution_um", "3.5", "distance of depth samples in RAW, which no file says"),
      number_option("slicing_interval_mm", "0.2", "distance of neighbouring slices"),
      number_option("depth_um", "300", "depth that is kept of each slice"),
      path_option("shifts", "shifts_xy.csv: fixed_id, moving_id, x_shift_mm, y_shift_mm"),
      flag_option("missing_slices", "slices that the shifts name may be missing"),
      optional_path_option("slice_config", "slice_config.csv: slice_id, use; leave out slices whose use is false"),
      flag_option("report", "write OUT/report.html too, as `oct report` does"),
      flag_option("resume", "keep what a run that was stopped has completed"),
  };
  step.what.example =
      "subject/raw out --axial-resolution-um 10 --slicing-interval-mm 0.24 --depth-um 520 --shifts "
      "subject/raw/shifts_xy.csv";
  step.run = run;
  return step;
}

}  // namespace penstock::oct
