// penstock cog validate
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/kit/command.hpp"
#include "core/json.hpp"
#include "penstock/cog.hpp"

namespace penstock::cli {
namespace {

constexpr int kNoCog = 65;  // as of data that are wrong

class CogValidate : public Command {
  std::string file_;
  bool tiles_ = false, json_ = false;
  StoreWords words_;

 public:
  void usage(Usage& usage) override {
    usage.about(
        "Says whether a TIFF is a Cloud Optimized GeoTIFF: directories first, tiles, overviews, and the data in their "
        "order. Prints a line for each thing that keeps it from being one; the exit code is 65 then. Elements are not "
        "decoded: penstock verify does that.");
    usage.argument("FILE", file_, "a TIFF or BigTIFF file");
    usage.flag("--tiles", tiles_, "also look at what stands around each tile, where the file promises it");
    words_.declare(usage);
    usage.flag("--json", json_, "print JSON");
    usage.example("penstock cog validate dem.tif", "");
  }

  Result<int> run(Session& session) override {
    PENSTOCK_ASSIGN(const StoreOptions how, words_.options());
    PENSTOCK_ASSIGN(const std::vector<std::string> problems, cog_problems(file_, how, tiles_));
    if (json_)
      session.out.json(Json{{"valid", problems.empty()}, {"problems", problems}});
    else if (problems.empty())
      session.out.print(fmt::format("{}: a Cloud Optimized GeoTIFF\n", file_));
    for (const std::string& problem : problems)
      if (!json_) session.out.print(fmt::format("{}: {}\n", file_, problem));
    return problems.empty() ? 0 : kNoCog;
  }
};

}  // namespace

std::unique_ptr<Command> make_cog_validate() { return std::make_unique<CogValidate>(); }

}  // namespace penstock::cli
