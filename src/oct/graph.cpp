#include "oct/graph.hpp"

#include <fmt/format.h>

#include <chrono>

#include "core/units.hpp"
#include "oct/file/names.hpp"
#include "oct/file/run_lock.hpp"
#include "oct/file/shifts.hpp"
#include "oct/file/small_file.hpp"
#include "oct/list.hpp"
#include "oct/raw/tiles.hpp"
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

/// "zNN" becomes the slice.
std::string with_slice(std::string_view text, std::uint64_t slice) {
  std::string out(text);
  if (const std::size_t at = out.find("zNN"); at != std::string::npos) out.replace(at, 3, fmt::format("z{:02}", slice));
  return out;
}

/// One run of all steps.
class Reconstruction {
 public:
  Reconstruction(const StepCall& call, StepDone& done) : call_(call), done_(done), out_(call.path(1)) {}

  Status run_all() {
    PENSTOCK_ASSIGN(const std::shared_ptr<Store> raw, open_store(call_.path(0), StoreMode::read));
    PENSTOCK_ASSIGN(const auto slices, find_tiles(*raw));
    PENSTOCK_TRY(check_shifts(slices));
    PENSTOCK_ASSIGN(const RunLock alone, RunLock::take(out_));
    PENSTOCK_TRY(begin());
    if (call_.force) {
      for (const auto& [slice, tiles] : slices) PENSTOCK_TRY(forget_slice(slice));
      PENSTOCK_TRY(forget(volume(), metrics_path(volume(), "stack")));
      PENSTOCK_TRY(erase_small(out_ + "/report.html"));
      PENSTOCK_TRY(write_small(out_ + "/reconstruct.json", as_bytes(settings())));
    }
    for (const auto& [slice, tiles] : slices)
      for (const SliceStep& step : slice_steps()) PENSTOCK_TRY(run_slice_step(step, slice));
    PENSTOCK_TRY(
        run_one("common-space", {out_, out_},
                {{"shifts", call_.text("shifts")}, {"missing_slices", call_.flag("missing_slices") ? "true" : "false"}},
                // Of the slices the last one is written last.
                common_path(slices.rbegin()->first)));
    PENSTOCK_TRY(
        run_one("stack", {out_, volume()}, {{"slicing_interval_mm", number("slicing_interval_mm")}}, volume()));
    if (call_.flag("report")) PENSTOCK_TRY(run_one("report", {out_}, {}, out_ + "/report.html"));
    done_.metrics.add("slices", slices.size(), "slices", "slices that were found");
    done_.metrics.note("seconds", seconds_, "of each step, over all slices");
    return {};
  }

 private:
  [[nodiscard]] std::string volume() const { return fmt::format("{}/3d_volume{}", out_, kVolumeEnding); }
  [[nodiscard]] std::string number(std::string_view name) const { return fmt::format("{}", call_.number(name)); }

  /// What decides the results; a run that is resumed must have the same.
  [[nodiscard]] std::string settings() const {
    Json all = Json::object();
    for (const char* name : {"resolution_um", "axial_resolution_um", "slicing_interval_mm", "depth_um"})
      all[name] = call_.number(name);
    all["raw"] = call_.path(0);
    all["shifts"] = call_.text("shifts");
    all["missing_slices"] = call_.flag("missing_slices");
    return dump_json(all, 2) + "\n";
  }

  /// They are needed when all slices are stitched, which takes hours: what is wrong with them is said before.
  template <class Slices>
  Status check_shifts(const Slices& slices) const {
    std::vector<std::uint64_t> ids;
    for (const auto& [slice, tiles] : slices) ids.push_back(slice);
    const std::string& csv = call_.text("shifts");
    PENSTOCK_ASSIGN(const Bytes bytes, read_small(csv));
    PENSTOCK_ASSIGN_IN(const std::vector<Shift> shifts, parse_shifts(as_text(bytes)), csv);
    PENSTOCK_TRY_IN(chain_shifts(shifts, ids, call_.flag("missing_slices")), csv);
    return {};
  }

  Status begin() {
    const std::string path = out_ + "/reconstruct.json";
    PENSTOCK_ASSIGN(const bool there, small_exists(path));
    if (there && !call_.force && !call_.flag("resume"))
      return Error(ErrorCode::already_exists, fmt::format("{}: holds a reconstruction", out_))
          .set_hint("--resume goes on with it, --force begins it anew.");
    if (there && call_.flag("resume") && !call_.force) {
      PENSTOCK_ASSIGN(const Bytes before, read_small(path));
      if (as_text(before) != settings())
        return Error(ErrorCode::already_exists,
                     fmt::format("{}: a reconstruction with other options, or of other tiles", path))
            .set_hint("--force begins it anew.");
      return {};
    }
    // What is replaced is forgotten before the new settings stand there: --resume must not take it for theirs.
    return call_.force ? Status() : write_small(path, as_bytes(settings()));
  }

  /// What stands last of a result.
  [[nodiscard]] static std::string mark_of(const std::string& result) {
    return result.ends_with(kVolumeEnding) ? result + "/zarr.json" : result;
  }
  [[nodiscard]] std::string common_path(std::uint64_t slice) const {
    return fmt::format("{}/{}_common{}", out_, slice_name("slice", slice), kVolumeEnding);
  }
  /// A result and what says that it is complete.
  Status forget(const std::string& result, const std::string& metrics) {
    PENSTOCK_TRY(erase_small(metrics));
    return erase_small(mark_of(result));
  }
  Status forget_slice(std::uint64_t slice) {
    for (const SliceStep& step : slice_steps()) {
      const std::string result = out_ + "/" + with_slice(step.out, slice);
      PENSTOCK_TRY(forget(result, metrics_path(result, step.step)));
    }
    return forget(common_path(slice), metrics_path(out_, "common-space"));
  }

  Status run_slice_step(const SliceStep& step, std::uint64_t slice) {
    std::map<std::string, std::string> options;
    for (const auto& [name, value] : step.options) options[name] = out_ + "/" + with_slice(value, slice);
    if (step.step == "mosaic") {
      options["slice"] = std::to_string(slice);
      options["resolution_um"] = number("resolution_um");
      options["axial_resolution_um"] = number("axial_resolution_um");
    }
    if (step.step == "crop-below-interface") options["depth_um"] = number("depth_um");
    const std::string in = step.in == "RAW" ? call_.path(0) : out_ + "/" + with_slice(step.in, slice);
    const std::string out = out_ + "/" + with_slice(step.out, slice);
    return run_one(step.step, {in, out}, options, out);
  }

  /// `result`: what stands when the step is complete.
  Status run_one(std::string_view name, std::vector<std::string> paths, std::map<std::string, std::string> options,
                 const std::string& result) {
    PENSTOCK_ASSIGN(const bool made, small_exists(mark_of(result)));
    // Its metrics are written after it, where it writes any.
    PENSTOCK_ASSIGN(const bool told, small_exists(paths.size() > 1 ? metrics_path(paths.back(), name) : result));
    if (made && told && !call_.force && call_.flag("resume")) {
      done_.text += result + ": kept\n";
      return {};
    }
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
  Json seconds_ = Json::object();
};

Result<StepDone> run(const StepCall& call) {
  StepDone done;
  PENSTOCK_TRY(Reconstruction(call, done).run_all());
  return done;
}

}  // namespace

Step reconstruct_step() {
  Step step;
  step.what.name = "reconstruct";
  step.what.summary = "raw tiles to a volume: all steps, one after another";
  step.what.about =
      "For each slice mosaic, fix-illumination, aip, estimate-transform, stitch and crop-below-interface; then "
      "common-space and "
      "stack. OUT gets what each step writes, under the same names as when the steps are run by themselves, and "
      "3d_volume.ome.zarr.";
  step.what.arguments = {{"RAW", "folder of raw tiles", false}, {"OUT", "folder for the results", true}};
  step.what.options = {
      number_option("resolution_um", "10", "voxel size to resample to"),
      number_option("axial_resolution_um", "3.5", "distance of depth samples in RAW, which no file says"),
      number_option("slicing_interval_mm", "0.2", "distance of neighbouring slices"),
      number_option("depth_um", "300", "depth that is kept of each slice"),
      path_option("shifts", "shifts_xy.csv: fixed_id, moving_id, x_shift_mm, y_shift_mm"),
      flag_option("missing_slices", "slices that the shifts name may be missing"),
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
