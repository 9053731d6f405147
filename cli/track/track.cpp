// penstock track
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/kit/command.hpp"
#include "cli/kit/progress.hpp"
#include "cli/kit/table.hpp"
#include "cli/track/fields.hpp"
#include "cli/track/model_options.hpp"
#include "core/json.hpp"
#include "core/units.hpp"
#include "penstock/tracto.hpp"

namespace penstock::cli {
namespace {

class Track : public Command {
  std::string dwi_;
  std::optional<std::string> output_, device_;
  TrackOptions how_;
  FieldOptions fields_;
  bool json_ = false;
  Resources resources_;

 public:
  void usage(Usage& usage) override {
    usage.about(
        "From a raw diffusion volume to streamlines: tensor, response, a model of each voxel, tracking, a file of "
        "streamlines. The same input and options give the same bytes on the CPU and on a GPU, with any number of "
        "threads and any size of chunk. Gradients are taken as they stand, in the axes of the voxels (as DIPY does).");
    usage.argument("DWI", dwi_,
                   "diffusion volume (x, y, z, volumes): .nii, .nii.gz, .hdr or a Zarr array; or a folder of `penstock "
                   "dwi fit`; or, with --sh-basis, an image of coefficients");
    usage.option("--output", "FILE", output_, "the file to write (whole or not at all): .trx, .trk or .tck").kind =
        ValueKind::path;
    usage.flag("--force", how_.force, "replace an existing FILE");
    declare_gradients(usage, fields_, how_);
    fields_.add_choice(usage, "--model", "M", how_.model, {"csd", "csa", "opdt"}, parse_dwi_model,
                       "what is fitted: csd (constrained spherical deconvolution), csa or opdt (orientation "
                       "distributions of one shell); default csd, of --method boot opdt");
    declare_model(usage, fields_, how_);
    fields_.add_choice(
        usage, "--sh-basis", "B", how_.sh_basis, {"descoteaux07_legacy", "descoteaux07", "tournier07"}, parse_sh_basis,
        "DWI is an image of coefficients of these spherical harmonics (MRtrix: tournier07); needs --stop "
        "or --mask");
    fields_.add(usage, "--sphere", "N", how_.sphere, "directions of the half sphere, 16 to 1024; default 362");
    declare_method(usage);
    declare_seeds(usage);
    declare_steps(usage);
    fields_.add_choice(usage, "--dtype", "T", how_.dtype, {"float32", "float16"}, parse_point_type,
                       "of the points: float32 or, in a TRX, float16 (0.06 mm at 128 mm); default float32");
    usage.flag("--keep-partial", how_.keep_partial,
               "when it is cancelled, FILE has what was tracked until then; default none");
    usage.option("--device", "D", device_,
                 "track on cpu, cuda, cuda:1, auto, cuda:all or a list (cuda:0,cuda:1); default cpu");
    usage.flag("--json", json_, "print the summary as JSON");
    resources_.declare(usage);
    resources_.declare_talk(usage, "also print, to standard error, how the volume was read");
    usage.example("penstock track dwi.nii.gz -o out.trx", "with dwi.bval and dwi.bvec beside it");
    usage.example("penstock track dwi.nii.gz -o out.trx --seeds 100000 --device cuda", "on a GPU");
    usage.example("penstock track dwi.nii.gz -o out.trx --method boot --model csa", "residual bootstrap");
    usage.example("penstock track dwi.nii.gz -o one.trx --first-seed 4711 --seeds 1", "one seed of those alone");
  }

  Result<int> run(Session& session) override {
    if (!output_)
      return Error(ErrorCode::invalid_argument, "--output FILE is needed").set_hint("penstock track DWI -o out.trx");
    PENSTOCK_TRY(fields_.read());
    PENSTOCK_ASSIGN(const Options options, resources_.options());
    const ProgressEnd end;
    std::vector<Device> devices;
    if (device_) {
      PENSTOCK_ASSIGN_IN(devices, parse_devices(*device_), "--device");
    }
    if (!resources_.quiet) how_.planned = say_plan;
    PENSTOCK_ASSIGN(const TrackSummary s, track(dwi_, *output_, how_, devices, options));
    if (json_)
      session.out.json(as_json(s));
    else if (!resources_.quiet)
      session.out.print(text(s));
    return s.cancelled ? error_exit_code(ErrorCode::cancelled) : 0;
  }

 private:
  void declare_method(Usage& usage) {
    fields_.add_choice(usage, "--method", "M", how_.method, {"prob", "det", "closest", "boot", "ptt"},
                       parse_track_method,
                       "prob (directions are drawn), det (the strongest within the angle), closest (the closest peak), "
                       "boot (the closest peak of a residual bootstrap) or ptt (parallel transport); default prob");
    usage.flag("--boot-retry", how_.boot_retry,
               "boot: up to five attempts until one has a peak within the angle (as cuslines does), not only until one "
               "has a peak (as DIPY does)");
    fields_.add(usage, "--substeps", "N", how_.substeps, "ptt: arcs of a step; default 20");
    fields_.add(usage, "--min-radius-mm", "MM", how_.min_radius_mm,
                "ptt: least radius of curvature; default that of --max-angle-deg over a step");
    fields_.add(usage, "--probe-length-mm", "MM", how_.probe_length_mm,
                "ptt: length of the arc that is looked along; default half a step");
    fields_.add(usage, "--probe-quality", "N", how_.probe_quality, "ptt: points along that arc; default 4");
    fields_.add(usage, "--probe-count", "N", how_.probe_count,
                "ptt: probes on a circle about each of them; default 1, on the arc");
    fields_.add(usage, "--probe-radius-mm", "MM", how_.probe_radius_mm,
                "ptt: radius of that circle; default half the smallest voxel size");
  }
  void declare_seeds(Usage& usage) {
    fields_.add(usage, "--seeds", "N", how_.seeds, "seeds in all, at random places; default --seeds-per-voxel");
    fields_.add(usage, "--seeds-per-voxel", "N", how_.seeds_per_voxel,
                "seeds in each voxel above --stop-below; default 1");
    fields_.add(usage, "--seed-grid", "N", how_.seed_grid, "N x N x N seeds in each voxel instead, evenly");
    fields_.add_path(usage, "--seeds-file", "FILE", how_.seeds_file,
                     "text, a seed in each row instead: x, y, z in mm of the world");
    fields_.add_path(usage, "--seed-image", "IMAGE", how_.seed_image, "seeds lie where it is above 0");
    fields_.add(usage, "--first-seed", "N", how_.first_seed, "number of the first seed; default 0");
    fields_.add(usage, "--random-seed", "N", how_.random_seed, "another number gives other random numbers; default 0");
    fields_.add(usage, "--peaks", "N", how_.max_peaks,
                "most streamlines from one seed, strongest direction first; default 8");
    fields_.add(usage, "--relative-peak", "R", how_.relative_peak, "least part of the strongest peak; default 0.25");
    fields_.add(usage, "--separation-deg", "DEG", how_.separation_deg, "least angle between peaks; default 45");
  }
  void declare_steps(Usage& usage) {
    fields_.add_path(usage, "--mask", "IMAGE", how_.mask,
                     "nothing is fitted, and tracking ends, where it is not above 0");
    fields_.add_path(usage, "--stop", "IMAGE", how_.stop, "the map that --stop-below is compared with; default the FA");
    fields_.add(usage, "--stop-below", "V", how_.stop_below, "tracking ends where the map falls to this; default 0.1");
    fields_.add(usage, "--step-mm", "MM", how_.step_mm, "length of a step; default half the smallest voxel size");
    fields_.add(usage, "--step-voxels", "N", how_.step_voxels, "the same in voxels of the smallest size");
    fields_.add(usage, "--max-angle-deg", "DEG", how_.max_angle_deg, "largest angle between two steps; default 60");
    fields_.add(usage, "--pmf-threshold", "R", how_.pmf_threshold,
                "directions below this part of the strongest are left out; default 0.05");
    fields_.add(usage, "--min-length-mm", "MM", how_.min_length_mm, "shorter streamlines are left out; default 5");
    fields_.add(usage, "--max-length-mm", "MM", how_.max_length_mm, "streamlines end at this length; default 500");
    fields_.add(usage, "--chunk-seeds", "N", how_.chunk_seeds, "seeds in memory at a time; default 25000");
  }

  static void say_plan(const TrackPlan& plan) {
    fmt::print(stderr, "memory: {} planned, of which {} the field and {} streamlines, in chunks of {} seeds\n",
               format_bytes(plan.bytes), format_bytes(plan.field_bytes), format_bytes(plan.streamline_bytes),
               format_count(plan.chunk_seeds));
  }

  static std::string per_second(double count, double seconds) {
    return seconds > 0 ? format_count(static_cast<std::uint64_t>(count / seconds)) : "-";
  }

  [[nodiscard]] std::string text(const TrackSummary& s) const {
    std::string out = fmt::format("{}\n", *output_);
    Table stages("lllr");
    stages.row({"stage", "path", "why", "seconds"});
    for (const StageReport& stage : s.report.stages)
      stages.row({stage.stage, stage.path, stage.reason, fmt::format("{:.3f}", stage.seconds)});
    out += stages.text(" ", terminal_width());
    if (s.response_voxels > 0)
      out += fmt::format(" response    {:.3e} {:.3e} {:.3e} mm2/s, S0 {:.6g}\n", s.response_evals[0],
                         s.response_evals[1], s.response_evals[2], s.response_s0);
    out += fmt::format(" voxels      {} of {} fitted, {} voxels/s\n", format_count(s.fitted_voxels),
                       format_count(s.voxels), per_second(static_cast<double>(s.voxels), s.fit_seconds));
    out += fmt::format(" seeds       {}, {} seeds/s\n", format_count(s.seeds),
                       per_second(static_cast<double>(s.seeds), s.track_seconds));
    out += fmt::format(" streamlines {}, mean length {:.2f} mm, {} points, {} points/s; {} too short\n",
                       format_count(s.streamlines), s.mean_length_mm, format_count(s.points),
                       per_second(static_cast<double>(s.points), s.track_seconds), format_count(s.too_short));
    out += fmt::format(" memory      {} at most", format_bytes(s.peak_bytes));
    out += fmt::format(" ({} planned)", format_bytes(s.planned_bytes));
    if (s.report.peak_device_bytes > 0)
      out += fmt::format(", {} on the device", format_bytes(s.report.peak_device_bytes));
    out += fmt::format("; {} in all\n", format_seconds(s.report.wall_seconds));
    if (s.cancelled) out += " cancelled   the file has what was tracked until then\n";
    return out;
  }

  [[nodiscard]] static Json as_json(const TrackSummary& s) {
    Json out = Json::object();
    out["voxels"] = s.voxels;
    out["fitted_voxels"] = s.fitted_voxels;
    out["seeds"] = s.seeds;
    out["streamlines"] = s.streamlines;
    out["points"] = s.points;
    out["too_short"] = s.too_short;
    out["cancelled"] = s.cancelled;
    out["mean_length_mm"] = s.mean_length_mm;
    out["response"] = {{"evals", s.response_evals}, {"s0", s.response_s0}, {"voxels", s.response_voxels}};
    out["fit_seconds"] = s.fit_seconds;
    out["track_seconds"] = s.track_seconds;
    out["wall_seconds"] = s.report.wall_seconds;
    out["kernel_seconds"] = s.kernel_seconds;
    out["planned_bytes"] = s.planned_bytes;
    out["peak_bytes"] = s.peak_bytes;
    out["peak_device_bytes"] = s.report.peak_device_bytes;
    Json stages = Json::array();
    for (const StageReport& stage : s.report.stages)
      stages.push_back(
          {{"stage", stage.stage}, {"path", stage.path}, {"reason", stage.reason}, {"seconds", stage.seconds}});
    out["stages"] = std::move(stages);
    return out;
  }
};

}  // namespace

std::unique_ptr<Command> make_track() { return std::make_unique<Track>(); }

}  // namespace penstock::cli
