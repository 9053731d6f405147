// penstock track
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/kit/command.hpp"
#include "cli/kit/progress.hpp"
#include "cli/kit/table.hpp"
#include "cli/track/numbers.hpp"
#include "core/json.hpp"
#include "core/units.hpp"
#include "penstock/tracto.hpp"

namespace penstock::cli {
namespace {

class Track : public Command {
  std::string dwi_;
  std::optional<std::string> output_, device_, bval_, bvec_, method_, mask_, stop_, seed_image_;
  struct Words {
    std::optional<std::string> b0_threshold, shell, sh_order, response_fa, response_radius, sphere, seeds,
        seeds_per_voxel, first_seed, random_seed, peaks, relative_peak, separation, stop_below, step, angle, pmf,
        min_length, max_length, chunk;
  } words_;
  bool force_ = false, json_ = false;
  Resources resources_;

 public:
  void usage(Usage& usage) override {
    usage.about(
        "From a raw diffusion volume to streamlines: tensor (weighted least squares), response, constrained spherical "
        "deconvolution, tracking, a file of streamlines. The same input and options give the same bytes on the CPU "
        "and on a GPU, with any number of threads and any size of chunk. Gradients are taken as they stand, in the "
        "axes of the voxels (as DIPY does).");
    usage.argument("DWI", dwi_, "diffusion volume (x, y, z, volumes): .nii, .nii.gz or a Zarr array");
    usage.option("--output", "FILE", output_, "the file to write (whole or not at all): .trx, .trk or .tck").kind =
        ValueKind::path;
    usage.flag("--force", force_, "replace an existing FILE");
    usage.option("--bval", "FILE", bval_, "b values in s/mm2; default NAME.bval beside NAME.nii").kind =
        ValueKind::path;
    usage.option("--bvec", "FILE", bvec_, "gradient vectors, 3 x N or N x 3; default NAME.bvec").kind = ValueKind::path;
    usage.option("--b0-threshold", "B", words_.b0_threshold, "volumes up to this b value are unweighted; default 50");
    usage.option("--shell", "B", words_.shell, "b value of the shell to deconvolve; default that of most volumes");
    usage.option("--sh-order", "N", words_.sh_order, "order of the spherical harmonics, even; default 8");
    usage.option("--response-fa", "FA", words_.response_fa, "the response is of voxels above; default 0.7");
    usage.option("--response-radius", "N", words_.response_radius,
                 "half width in voxels of the box about the centre that they lie in; default 10");
    usage.option("--sphere", "N", words_.sphere, "directions of the half sphere, 16 to 1024; default 362");
    Option& method = usage.option("--method", "M", method_,
                                  "prob (directions are drawn), det (the strongest within the angle) or closest (the "
                                  "closest peak); default prob");
    method.kind = ValueKind::choice;
    method.choices = {"prob", "det", "closest"};
    usage.option("--seeds", "N", words_.seeds, "seeds in all, at random places; default --seeds-per-voxel");
    usage.option("--seeds-per-voxel", "N", words_.seeds_per_voxel, "seeds in each voxel above --stop-below; default 1");
    usage.option("--first-seed", "N", words_.first_seed, "number of the first seed; default 0");
    usage.option("--random-seed", "N", words_.random_seed, "another number gives other random numbers; default 0");
    usage.option("--peaks", "N", words_.peaks, "most streamlines from one seed, strongest direction first; default 8");
    usage.option("--relative-peak", "R", words_.relative_peak, "least part of the strongest peak; default 0.25");
    usage.option("--separation-deg", "DEG", words_.separation, "least angle between peaks; default 45");
    usage.option("--mask", "IMAGE", mask_, "nothing is fitted, and tracking ends, where it is not above 0").kind =
        ValueKind::path;
    usage.option("--stop", "IMAGE", stop_, "the map that --stop-below is compared with; default the FA").kind =
        ValueKind::path;
    usage.option("--seed-image", "IMAGE", seed_image_, "seeds lie where it is above 0").kind = ValueKind::path;
    usage.option("--stop-below", "V", words_.stop_below, "tracking ends where the map falls to this; default 0.1");
    usage.option("--step-mm", "MM", words_.step, "length of a step; default half the smallest voxel size");
    usage.option("--max-angle-deg", "DEG", words_.angle, "largest angle between two steps; default 60");
    usage.option("--pmf-threshold", "R", words_.pmf,
                 "directions below this part of the strongest are left out; default 0.05");
    usage.option("--min-length-mm", "MM", words_.min_length, "shorter streamlines are left out; default 5");
    usage.option("--max-length-mm", "MM", words_.max_length, "streamlines end at this length; default 500");
    usage.option("--chunk-seeds", "N", words_.chunk, "seeds in memory at a time; default 25000");
    usage.option("--device", "D", device_, "track on cpu, cuda, cuda:1 or auto; default cpu");
    usage.flag("--json", json_, "print the summary as JSON");
    resources_.declare(usage);
    resources_.declare_talk(usage, "also print, to standard error, how the volume was read");
    usage.example("penstock track dwi.nii.gz -o out.trx", "with dwi.bval and dwi.bvec beside it");
    usage.example("penstock track dwi.nii.gz -o out.trx --seeds 100000 --device cuda", "on a GPU");
    usage.example("penstock track dwi.nii.gz -o one.trx --first-seed 4711 --seeds 1", "one seed of those alone");
  }

  Result<int> run(Session& session) override {
    if (!output_)
      return Error(ErrorCode::invalid_argument, "--output FILE is needed").set_hint("penstock track DWI -o out.trx");
    PENSTOCK_ASSIGN(const TrackOptions how, chosen());
    PENSTOCK_ASSIGN(const Options options, resources_.options());
    const ProgressEnd end;
    Device device;
    if (device_) {
      PENSTOCK_ASSIGN_IN(device, Device::parse(*device_), "--device");
    }
    PENSTOCK_ASSIGN(const TrackSummary s, track(dwi_, *output_, how, device, options));
    if (json_)
      session.out.json(as_json(s));
    else if (!resources_.quiet)
      session.out.print(text(s));
    return 0;
  }

 private:
  [[nodiscard]] Result<TrackOptions> chosen() const {
    TrackOptions how;
    how.bval = bval_.value_or("");
    how.bvec = bvec_.value_or("");
    how.force = force_;
    how.mask = mask_.value_or("");
    how.stop = stop_.value_or("");
    how.seed_image = seed_image_.value_or("");
    if (method_) {
      PENSTOCK_ASSIGN(how.method, parse_track_method(*method_));
    }
    double shell = 0, step = 0;
    PENSTOCK_TRY(read_number("--shell", words_.shell, shell));
    PENSTOCK_TRY(read_number("--step-mm", words_.step, step));
    if (words_.shell) how.shell = shell;
    if (words_.step) how.step_mm = step;
    PENSTOCK_TRY(read_number("--b0-threshold", words_.b0_threshold, how.b0_threshold));
    PENSTOCK_TRY(read_number("--response-fa", words_.response_fa, how.response_fa));
    PENSTOCK_TRY(read_number("--relative-peak", words_.relative_peak, how.relative_peak));
    PENSTOCK_TRY(read_number("--separation-deg", words_.separation, how.separation_deg));
    PENSTOCK_TRY(read_number("--stop-below", words_.stop_below, how.stop_below));
    PENSTOCK_TRY(read_number("--max-angle-deg", words_.angle, how.max_angle_deg));
    PENSTOCK_TRY(read_number("--pmf-threshold", words_.pmf, how.pmf_threshold));
    PENSTOCK_TRY(read_number("--min-length-mm", words_.min_length, how.min_length_mm));
    PENSTOCK_TRY(read_number("--max-length-mm", words_.max_length, how.max_length_mm));
    PENSTOCK_TRY(read_count("--sh-order", words_.sh_order, how.sh_order));
    PENSTOCK_TRY(read_count("--response-radius", words_.response_radius, how.response_radius));
    PENSTOCK_TRY(read_count("--sphere", words_.sphere, how.sphere));
    PENSTOCK_TRY(read_count("--seeds", words_.seeds, how.seeds));
    PENSTOCK_TRY(read_count("--seeds-per-voxel", words_.seeds_per_voxel, how.seeds_per_voxel));
    PENSTOCK_TRY(read_count("--first-seed", words_.first_seed, how.first_seed));
    PENSTOCK_TRY(read_count("--random-seed", words_.random_seed, how.random_seed));
    PENSTOCK_TRY(read_count("--peaks", words_.peaks, how.max_peaks));
    PENSTOCK_TRY(read_count("--chunk-seeds", words_.chunk, how.chunk_seeds));
    return how;
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
    out += fmt::format(" response    {:.3e} {:.3e} {:.3e} mm2/s, S0 {:.6g}\n", s.response_evals[0], s.response_evals[1],
                       s.response_evals[2], s.response_s0);
    out += fmt::format(" voxels      {} of {} fitted, {} voxels/s\n", format_count(s.fitted_voxels),
                       format_count(s.voxels), per_second(static_cast<double>(s.voxels), s.fit_seconds));
    out += fmt::format(" seeds       {}, {} seeds/s\n", format_count(s.seeds),
                       per_second(static_cast<double>(s.seeds), s.track_seconds));
    out += fmt::format(" streamlines {}, mean length {:.2f} mm, {} points, {} points/s; {} too short\n",
                       format_count(s.streamlines), s.mean_length_mm, format_count(s.points),
                       per_second(static_cast<double>(s.points), s.track_seconds), format_count(s.too_short));
    out += fmt::format(" memory      {} at most", format_bytes(s.peak_bytes));
    if (s.report.peak_device_bytes > 0)
      out += fmt::format(", {} on the device", format_bytes(s.report.peak_device_bytes));
    return out + fmt::format("; {} in all\n", format_seconds(s.report.wall_seconds));
  }

  [[nodiscard]] static Json as_json(const TrackSummary& s) {
    Json out = Json::object();
    out["voxels"] = s.voxels;
    out["fitted_voxels"] = s.fitted_voxels;
    out["seeds"] = s.seeds;
    out["streamlines"] = s.streamlines;
    out["points"] = s.points;
    out["too_short"] = s.too_short;
    out["mean_length_mm"] = s.mean_length_mm;
    out["response"] = {{"evals", s.response_evals}, {"s0", s.response_s0}, {"voxels", s.response_voxels}};
    out["fit_seconds"] = s.fit_seconds;
    out["track_seconds"] = s.track_seconds;
    out["wall_seconds"] = s.report.wall_seconds;
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
