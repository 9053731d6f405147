// penstock dwi fit
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/kit/command.hpp"
#include "cli/kit/progress.hpp"
#include "cli/track/numbers.hpp"
#include "core/json.hpp"
#include "penstock/tracto.hpp"

namespace penstock::cli {
namespace {

class DwiFit : public Command {
  std::string dwi_;
  std::optional<std::string> output_, model_, bval_, bvec_, b0_threshold_, shell_, sh_order_, response_fa_,
      response_radius_, stop_below_;
  bool force_ = false, json_ = false;
  Resources resources_;

 public:
  void usage(Usage& usage) override {
    usage.about(
        "Fits a model to each voxel of a diffusion volume and writes maps (NIfTI, float32) into a folder. dti, the "
        "tensor by weighted least squares: fa, md (mm2/s), evals, evecs (the largest first). csd, constrained "
        "spherical "
        "deconvolution: sh (coefficients, legacy basis of Descoteaux), fa, response.json.");
    usage.argument("DWI", dwi_, "diffusion volume (x, y, z, volumes): .nii, .nii.gz or a Zarr array");
    usage.option("--output", "DIR", output_, "folder for the maps; made if absent").kind = ValueKind::path;
    usage.flag("--force", force_, "replace maps that are there");
    Option& model = usage.option("--model", "M", model_, "dti or csd; default dti");
    model.kind = ValueKind::choice;
    model.choices = {"dti", "csd"};
    usage.option("--bval", "FILE", bval_, "b values in s/mm2; default NAME.bval beside NAME.nii").kind =
        ValueKind::path;
    usage.option("--bvec", "FILE", bvec_, "gradient vectors, 3 x N or N x 3; default NAME.bvec").kind = ValueKind::path;
    usage.option("--b0-threshold", "B", b0_threshold_, "volumes up to this b value are unweighted; default 50");
    usage.option("--shell", "B", shell_, "csd: b value of the shell to deconvolve; default that of most volumes");
    usage.option("--sh-order", "N", sh_order_, "csd: order of the spherical harmonics, even; default 8");
    usage.option("--response-fa", "FA", response_fa_, "csd: the response is of voxels above; default 0.7");
    usage.option("--response-radius", "N", response_radius_,
                 "csd: half width in voxels of the box about the centre that they lie in; default 10");
    usage.option("--stop-below", "FA", stop_below_, "csd: only voxels above are fitted; default 0.1");
    usage.flag("--json", json_, "print the summary as JSON");
    resources_.declare(usage);
    usage.example("penstock dwi fit dwi.nii.gz -o maps", "fa, md, evals and evecs");
    usage.example("penstock dwi fit dwi.nii.gz -o maps --model csd --sh-order 6", "fibre orientations");
  }

  Result<int> run(Session& session) override {
    if (!output_)
      return Error(ErrorCode::invalid_argument, "--output DIR is needed").set_hint("penstock dwi fit DWI -o maps");
    TrackOptions how;
    how.bval = bval_.value_or("");
    how.bvec = bvec_.value_or("");
    how.force = force_;
    double shell = 0;
    PENSTOCK_TRY(read_number("--shell", shell_, shell));
    if (shell_) how.shell = shell;
    PENSTOCK_TRY(read_number("--b0-threshold", b0_threshold_, how.b0_threshold));
    PENSTOCK_TRY(read_number("--response-fa", response_fa_, how.response_fa));
    PENSTOCK_TRY(read_number("--stop-below", stop_below_, how.stop_below));
    PENSTOCK_TRY(read_count("--sh-order", sh_order_, how.sh_order));
    PENSTOCK_TRY(read_count("--response-radius", response_radius_, how.response_radius));
    PENSTOCK_ASSIGN(const Options options, resources_.options());
    const ProgressEnd end;
    const DwiModel model = model_ == "csd" ? DwiModel::csd : DwiModel::dti;
    PENSTOCK_ASSIGN(const TrackSummary s, fit_dwi(dwi_, *output_, model, how, options));
    if (json_) {
      Json out = Json::object();
      out["voxels"] = s.voxels;
      out["fitted_voxels"] = s.fitted_voxels;
      if (model == DwiModel::csd)
        out["response"] = {{"evals", s.response_evals}, {"s0", s.response_s0}, {"voxels", s.response_voxels}};
      out["wall_seconds"] = s.report.wall_seconds;
      session.out.json(out);
    } else {
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
