// penstock dwi fit
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/kit/command.hpp"
#include "cli/kit/progress.hpp"
#include "cli/track/model_options.hpp"
#include "core/json.hpp"
#include "penstock/tracto.hpp"

namespace penstock::cli {
namespace {

class DwiFit : public Command {
  std::string dwi_;
  std::optional<std::string> output_, device_;
  DwiModel model_ = DwiModel::dti;
  TrackOptions how_;
  FieldOptions fields_;
  bool json_ = false;
  Resources resources_;

 public:
  void usage(Usage& usage) override {
    usage.about(
        "Fits a model to each voxel of a diffusion volume and writes maps (NIfTI, float32) into a folder. dti, the "
        "tensor: fa, md (mm2/s), evals, evecs (the largest first), peaks. csd, constrained spherical deconvolution: sh "
        "(coefficients, legacy basis of Descoteaux), peaks, fa, response.json. csa and opdt, orientation distributions "
        "of one shell: sh, peaks, fa. The same input and options give the same numbers on the CPU and on a GPU.");
    usage.argument("DWI", dwi_, "diffusion volume (x, y, z, volumes): .nii, .nii.gz or a Zarr array");
    usage.option("--output", "DIR", output_, "folder for the maps; made if absent").kind = ValueKind::path;
    usage.flag("--force", how_.force, "replace maps that are there");
    fields_.add_choice(usage, "--model", "M", model_, {"dti", "csd", "csa", "opdt"}, parse_dwi_model,
                       "dti, csd, csa or opdt; default dti");
    declare_gradients(usage, fields_, how_);
    declare_model(usage, fields_, how_);
    fields_.add(usage, "--stop-below", "FA", how_.stop_below,
                "csd, csa, opdt: only voxels above are fitted; default 0.1");
    fields_.add(usage, "--sphere", "N", how_.sphere,
                "csd, csa, opdt: directions of the half sphere that peaks are looked for in; default 362");
    fields_.add(usage, "--relative-peak", "R", how_.relative_peak, "least part of the strongest peak; default 0.25");
    fields_.add(usage, "--separation-deg", "DEG", how_.separation_deg, "least angle between peaks; default 45");
    usage.option("--device", "D", device_, "fit on cpu, cuda, cuda:1 or auto; default cpu");
    usage.flag("--json", json_, "print the summary as JSON");
    resources_.declare(usage);
    usage.flag("--quiet", resources_.quiet, "no progress, no summary: errors only");
    usage.example("penstock dwi fit dwi.nii.gz -o maps", "fa, md, evals, evecs and peaks");
    usage.example("penstock dwi fit dwi.nii.gz -o maps --model csd --sh-order 6", "fibre orientations");
  }

  Result<int> run(Session& session) override {
    if (!output_)
      return Error(ErrorCode::invalid_argument, "--output DIR is needed").set_hint("penstock dwi fit DWI -o maps");
    PENSTOCK_TRY(fields_.read());
    PENSTOCK_ASSIGN(const Options options, resources_.options());
    const ProgressEnd end;
    std::vector<Device> devices;
    if (device_) {
      PENSTOCK_ASSIGN_IN(devices, parse_devices(*device_), "--device");
    }
    PENSTOCK_ASSIGN(const TrackSummary s, fit_dwi(dwi_, *output_, model_, how_, devices, options));
    if (json_) {
      Json out = Json::object();
      out["voxels"] = s.voxels;
      out["fitted_voxels"] = s.fitted_voxels;
      if (model_ == DwiModel::csd)
        out["response"] = {{"evals", s.response_evals}, {"s0", s.response_s0}, {"voxels", s.response_voxels}};
      out["fit_seconds"] = s.fit_seconds;
      out["wall_seconds"] = s.report.wall_seconds;
      session.out.json(out);
    } else if (!resources_.quiet) {
      session.out.print(fmt::format("{}: {} of {} voxels fitted in {}{}{}\n", *output_, format_count(s.fitted_voxels),
                                    format_count(s.voxels), format_seconds(s.report.wall_seconds),
                                    s.report.note.empty() ? "" : "; ", s.report.note));
    }
    return 0;
  }
};

}  // namespace

std::unique_ptr<Command> make_dwi_fit() { return std::make_unique<DwiFit>(); }

}  // namespace penstock::cli
