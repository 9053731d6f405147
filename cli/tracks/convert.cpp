// penstock tracks convert
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.hpp"
#include "cli/kit/command.hpp"
#include "core/units.hpp"
#include "penstock/tractogram.hpp"

namespace penstock::cli {
namespace {

class TracksConvert : public Command {
  std::string file_;
  std::optional<std::string> output_, reference_, dtype_;
  TractogramOptions how_;
  Resources resources_;

 public:
  void usage(Usage& usage) override {
    usage.about(
        "Writes the streamlines of a file to another, whose ending chooses the format. Points become float32, or "
        "float16 in a TRX, in the place that the other format gives them: TRX and TCK count millimetres of the world, "
        "TRK from the corner of the image. What the file says of streamlines beside seed, seed_index, reason and "
        "length is left out, and said.");
    usage.argument("FILE", file_, ".trx (a file or a folder), .trk or .tck");
    usage.option("--output", "FILE", output_, "the file to write (whole or not at all): .trx, .trk or .tck").kind =
        ValueKind::path;
    usage.option("--reference", "IMAGE", reference_, "the image that the points belong to; a TCK does not say it")
        .kind = ValueKind::path;
    Option& dtype =
        usage.option("--dtype", "T", dtype_, "of the points: float32 or, in a TRX, float16; default float32");
    dtype.kind = ValueKind::choice;
    dtype.choices = {"float32", "float16"};
    usage.flag("--force", how_.force, "replace an existing file");
    resources_.declare(usage);
    usage.example("penstock tracks convert out.trx -o out.trk", "");
    usage.example("penstock tracks convert bundle.tck -o bundle.trx --reference dwi.nii.gz", "");
  }

  Result<int> run(Session& session) override {
    if (!output_)
      return Error(ErrorCode::invalid_argument, "--output FILE is needed")
          .set_hint("penstock tracks convert out.trx -o out.trk");
    how_.reference = reference_.value_or("");
    if (dtype_) {
      PENSTOCK_ASSIGN_IN(how_.dtype, parse_point_type(*dtype_), "--dtype");
    }
    PENSTOCK_ASSIGN(const Options options, resources_.options());
    PENSTOCK_ASSIGN(const TractogramSummary s, convert_tractogram(file_, *output_, how_, options));
    session.out.print(
        fmt::format("{}: {} streamlines, {} points{}\n", *output_, format_count(s.streamlines), format_count(s.points),
                    s.left_out.empty() ? "" : fmt::format("; left out: {}", fmt::join(s.left_out, ", "))));
    return 0;
  }
};

}  // namespace

std::unique_ptr<Command> make_tracks_convert() { return std::make_unique<TracksConvert>(); }

}  // namespace penstock::cli
