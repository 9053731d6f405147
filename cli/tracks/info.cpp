// penstock tracks info
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.hpp"
#include "cli/kit/command.hpp"
#include "core/json.hpp"
#include "core/units.hpp"
#include "penstock/tractogram.hpp"

namespace penstock::cli {
namespace {

class TracksInfo : public Command {
  std::vector<std::string> files_;
  bool json_ = false;
  Resources resources_;

 public:
  void usage(Usage& usage) override {
    usage.about(
        "What files of streamlines hold: counts, lengths, the box that the points lie in, the image that they belong "
        "to. All of a file is read, so that one that is cut off is found.");
    usage.argument("FILE", files_, ".trx (a file or a folder), .trk or .tck").at_least_one = true;
    usage.flag("--json", json_, "print JSON, a line for each file");
    resources_.declare(usage);
    usage.example("penstock tracks info out.trx", "");
  }

  Result<int> run(Session& session) override {
    PENSTOCK_ASSIGN(const Options options, resources_.options());
    for (const std::string& file : files_) {
      PENSTOCK_ASSIGN(const TractogramSummary s, tractogram_info(file, options));
      if (json_)
        session.out.json(as_json(file, s));
      else
        session.out.print(text(file, s));
    }
    return 0;
  }

 private:
  static std::string text(const std::string& file, const TractogramSummary& s) {
    std::string out = fmt::format("{}\n format      {}, {}\n", file, s.format, s.number_type);
    out += fmt::format(" streamlines {}, {} points\n", format_count(s.streamlines), format_count(s.points));
    if (s.streamlines > 0) {
      out += fmt::format(" length      {:.2f} mm on average, {:.2f} to {:.2f}\n", s.mean_length_mm, s.min_length_mm,
                         s.max_length_mm);
      out += fmt::format(" box         ({:.2f}) to ({:.2f}) mm\n", fmt::join(s.box_first, ", "),
                         fmt::join(s.box_last, ", "));
    }
    if (s.dims) {
      const auto& m = s.world_from_voxel->rows;
      out += fmt::format(" image       {} voxels\n", fmt::join(*s.dims, " x "));
      for (std::size_t i = 0; i < 3; ++i)
        out += fmt::format(" {}{:10.4f} {:10.4f} {:10.4f} {:10.4f}\n", i == 0 ? "world       " : "            ",
                           m[4 * i], m[4 * i + 1], m[4 * i + 2], m[4 * i + 3]);
    }
    if (!s.names.empty()) out += fmt::format(" says        {}\n", fmt::join(s.names, ", "));
    return out;
  }

  static Json as_json(const std::string& file, const TractogramSummary& s) {
    Json out = Json::object();
    out["file"] = file;
    out["format"] = s.format;
    out["number_type"] = s.number_type;
    out["streamlines"] = s.streamlines;
    out["points"] = s.points;
    out["length_mm"] = {{"min", s.min_length_mm}, {"mean", s.mean_length_mm}, {"max", s.max_length_mm}};
    out["box"] = Json::array({s.box_first, s.box_last});
    if (s.dims) {
      out["dims"] = *s.dims;
      out["world_from_voxel"] = s.world_from_voxel->rows;
    }
    out["names"] = s.names;
    return out;
  }
};

}  // namespace

std::unique_ptr<Command> make_tracks_info() { return std::make_unique<TracksInfo>(); }

}  // namespace penstock::cli
