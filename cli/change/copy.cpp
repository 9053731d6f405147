// penstock copy
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "cli/commands.hpp"
#include "cli/kit/command.hpp"
#include "cli/kit/report_text.hpp"
#include "cli/kit/table.hpp"
#include "cli/nodes/describe.hpp"
#include "cli/nodes/layout.hpp"
#include "cli/nodes/target.hpp"
#include "cli/nodes/walk.hpp"
#include "core/json.hpp"
#include "core/units.hpp"
#include "penstock/cog.hpp"
#include "penstock/copy.hpp"

namespace penstock::cli {
namespace {

class Copy : public Command {
  std::string from_, to_;
  std::optional<std::string> region_, format_, separator_, downsample_, levels_, factor_, device_;
  bool pyramid_ = false, resume_ = false, force_ = false, dry_run_ = false, json_ = false;
  LayoutWords layout_;
  StoreWords words_;
  Resources resources_;

 public:
  void usage(Usage& usage) override {
    usage.about(
        "Copies an array, or a group with all that is below it, in bounded memory. What is not asked for stays as it "
        "is. Objects appear whole and the metadata comes last: a copy that is stopped opens as nothing, and --resume "
        "goes on with it.");
    usage.argument("FROM", from_, "array or group");
    usage.argument("TO", to_, "a new directory, or a new file that ends in .zip, or in .tif for a COG");
    usage.option("--region", "R", region_, "only this region of an array, with NumPy's rules");
    layout_.declare(usage);
    Option& format = usage.option("--zarr-format", "N", format_, "2 or 3");
    format.kind = ValueKind::choice;
    format.choices = {"2", "3"};
    Option& separator = usage.option("--separator", "S", separator_, "between the numbers of a chunk's key: / or .");
    separator.kind = ValueKind::choice;
    separator.choices = {"/", "."};
    usage.flag("--pyramid", pyramid_, "write an OME-NGFF image: the array as level 0, and coarser levels of it");
    Option& downsample =
        usage.option("--downsample", "HOW", downsample_,
                     "with --pyramid: mean (default), gaussian, or for labels mode (most frequent) or nearest");
    downsample.kind = ValueKind::choice;
    downsample.choices = {"mean", "gaussian", "mode", "nearest"};
    usage.option("--levels", "N", levels_, "with --pyramid: how many levels; default until 256 or less");
    usage.option("--factor", "N", factor_,
                 "with --pyramid: how much coarser each level is along the axes of space, 2 (default) or more, or one "
                 "for each: 1,2,2");
    usage.option("--device", "D", device_,
                 "with --pyramid: where levels are made: cpu (default), cuda, cuda:1 or auto");
    usage.flag("--resume", resume_,
               "go on with the same copy that was stopped; of one that is complete, compare every element");
    usage.flag("--force", force_,
               "replace an array or group at TO, once the copy that was written beside it is complete");
    words_.declare_durable(usage);
    words_.declare(usage);
    words_.declare_target(usage, "FROM", "TO");
    usage.flag("--dry-run", dry_run_, "print what would be written, write nothing");
    usage.flag("--json", json_, "print the report as JSON");
    resources_.declare(usage);
    resources_.declare_talk(usage, "first print, to standard error, what will be written");
    usage.example("penstock copy vol.zarr/0 small.zarr --region 0:100,:,:", "a part");
    usage.example("penstock copy old.zarr new.zarr --zarr-format 3 --chunks 64 --shards 512 --codec zstd:level=3",
                  "from v2 to sharded v3");
    usage.example("penstock copy vol.zarr vol.zip", "into one file");
    usage.example("penstock copy vol.zarr/0 image.ome.zarr --pyramid", "an image with its pyramid");
    usage.example("penstock copy labels.zarr labels.ome.zarr --pyramid --downsample mode --factor 4 --device auto",
                  "of labels, each level a quarter, made on a GPU where there is one");
  }

  Result<int> run(Session& session) override {
    PENSTOCK_TRY(check_options());
    PENSTOCK_ASSIGN(const Options options, resources_.options());
    const ProgressEnd end;
    CopyOptions how;
    PENSTOCK_ASSIGN(const StoreOptions reading, words_.options());
    PENSTOCK_ASSIGN(how.store, words_.target_options());
    PENSTOCK_ASSIGN(const Node node, open_node(from_, reading));
    how.if_exists = force_ ? Array::IfExists::overwrite : Array::IfExists::fail;
    how.resume = resume_ ? Resume::yes : Resume::no;
    how.changes = [this](const Dataset& dataset) { return changes_for(dataset); };
    if (format_) how.zarr_format = *format_ == "2" ? 2 : 3;
    PENSTOCK_TRY(set_pyramid(how));
    if (std::holds_alternative<Group>(node) && region_ && !pyramid_)
      return Error(ErrorCode::invalid_argument, "--region: a region is of one array; name one inside the group");
    PENSTOCK_TRY(check_target());
    if (names_raster(to_)) return copy_to_raster(session, node, how, options);
    // Also: nothing is begun that cannot be done.
    PENSTOCK_ASSIGN(const std::vector<PlannedArray> plan, plan_copy(node, how));
    for (const PlannedArray& array : plan)
      if (!array.lost.empty())
        fmt::print(stderr, "penstock copy: {}: {}\n", array.path.empty() ? from_ : array.path, array.lost);
    if (dry_run_) {
      PENSTOCK_TRY(print_plan(session, plan));
      return 0;
    }
    if (resources_.verbose) PENSTOCK_TRY(tell_plan(plan));
    const TargetNode target = split_target(to_);
    Result<Report> copied = copy(node, target.store_url, target.path, how, options);
    if (!copied && copied.error().code() == ErrorCode::cancelled)
      copied.error().set_hint(target.store_url.ends_with(".zip") ? "a zip is written as a whole: nothing has changed."
                                                                 : "the same command with --resume goes on.");
    PENSTOCK_ASSIGN(const Report report, std::move(copied));
    return print(session, report);
  }

 private:
  Result<int> print(Session& session, const Report& report) const {
    if (json_) {
      PENSTOCK_ASSIGN(const Json document, parse_json(report.json()));
      session.out.json(document);
    } else if (!resources_.quiet) {
      session.out.print(report_text(report, terminal_width()));
    }
    return 0;
  }
  Result<int> copy_to_raster(Session& session, const Node& node, const CopyOptions& how, const Options& options) const {
    if (dry_run_) return Error(ErrorCode::invalid_argument, "--dry-run: not for a COG, which is one file");
    PENSTOCK_ASSIGN(const Report report, copy(node, to_, "", how, options));
    return print(session, report);
  }

  [[nodiscard]] Status check_options() const {
    const auto refuse = [](std::string text) { return Error(ErrorCode::invalid_argument, std::move(text)); };
    if (!pyramid_ && (downsample_ || levels_ || factor_ || device_))
      return refuse("--downsample, --levels, --factor and --device go with --pyramid");
    return {};
  }

  /// A line for each array of the copy.
  [[nodiscard]] static Result<std::string> plan_text(const std::vector<PlannedArray>& plan) {
    std::string text;
    for (const PlannedArray& array : plan) {
      const Dataset& dataset = array.dataset;
      PENSTOCK_ASSIGN(const std::string chunks, chunks_text(dataset));
      PENSTOCK_ASSIGN(const std::uint64_t bytes, decoded_bytes(dataset));
      PENSTOCK_ASSIGN(const std::uint64_t objects, element_count(dataset.grid_shape()));
      text +=
          fmt::format(" would write {}{}Zarr v{}  {}  {}  {}  {}  in up to {} objects, {} before encoding\n",
                      array.path, array.path.empty() ? "" : "  ", dataset.format.version, shape_text(dataset),
                      dataset.dtype.name(), chunks, codecs_text(dataset), format_count(objects), format_bytes(bytes));
    }
    return text;
  }
  [[nodiscard]] static Status tell_plan(const std::vector<PlannedArray>& plan) {
    PENSTOCK_ASSIGN(const std::string text, plan_text(plan));
    std::fputs(text.c_str(), stderr);
    return {};
  }
  [[nodiscard]] Status print_plan(Session& session, const std::vector<PlannedArray>& plan) const {
    if (!json_) {
      PENSTOCK_ASSIGN(const std::string text, plan_text(plan));
      session.out.print(text);
      return {};
    }
    Json json = Json::array();
    for (const PlannedArray& array : plan) {
      PENSTOCK_ASSIGN(Json entry, dataset_json(array.dataset));
      PENSTOCK_ASSIGN(const std::uint64_t objects, element_count(array.dataset.grid_shape()));
      entry["path"] = array.path;
      entry["objects"] = objects;
      json.push_back(std::move(entry));
    }
    session.out.json(json);
    return {};
  }

  /// "2", or one for each axis of space: "1,2,2".
  [[nodiscard]] static Result<std::vector<std::uint32_t>> parse_factors(const std::string& text) {
    std::vector<std::uint32_t> factors;
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find(',', at), text.size());
      PENSTOCK_ASSIGN(const std::uint64_t factor, parse_count(std::string_view(text).substr(at, end - at)));
      factors.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(factor, UINT32_MAX)));
      at = end + 1;
    }
    return factors;
  }

  [[nodiscard]] Status set_pyramid(CopyOptions& how) const {
    if (!pyramid_) return {};
    how.pyramid = PyramidOptions{};
    if (downsample_ == "nearest") how.pyramid->method = Downsample::nearest;
    if (downsample_ == "gaussian") how.pyramid->method = Downsample::gaussian;
    if (downsample_ == "mode") how.pyramid->method = Downsample::mode;
    if (levels_) {
      PENSTOCK_ASSIGN_IN(const std::uint64_t levels, parse_count(*levels_), "--levels");
      if (levels < 1 || levels > 32) return Error(ErrorCode::invalid_argument, "--levels: must be from 1 to 32");
      how.pyramid->levels = static_cast<int>(levels);
    }
    if (factor_) {
      PENSTOCK_ASSIGN_IN(how.pyramid->factor, parse_factors(*factor_), "--factor");
    }
    if (device_) {
      PENSTOCK_ASSIGN_IN(how.pyramid->device, Device::parse(*device_), "--device");
    }
    return {};
  }

  /// Nothing is overwritten without --force, and nothing but arrays and groups with it.
  [[nodiscard]] Status check_target() const {
    const TargetNode target = split_target(to_);
    if (overlaps(split_target(from_).store_url, target.store_url))
      return Error(ErrorCode::invalid_argument, fmt::format("{} and {} overlap; copy to another place", from_, to_));
    if (const auto around = array_around(target))
      return Error(ErrorCode::invalid_argument, fmt::format("{}: is inside the array {}", to_, *around))
          .set_hint("an array's directory holds its chunks only; copy to a place outside it.");
    if (names_raster(to_)) return {};  // one file, that of another is never touched without --force
    PENSTOCK_ASSIGN(const Occupant found, occupant(target));
    const auto exists = [&](std::string_view what, std::string hint) {
      return Error(ErrorCode::already_exists, fmt::format("{}: {}", to_, what)).set_hint(std::move(hint));
    };
    if (found == Occupant::other)
      return exists("is there and is neither an array nor a group",
                    "penstock does not remove it, also not with --force.");
    PENSTOCK_TRY(check_target_name(target));
    if (found == Occupant::node && !force_ && !resume_) return exists("already exists", "--force replaces it.");
    if (found == Occupant::broken && !force_ && !resume_)
      return exists("holds a copy that was stopped", "--resume goes on with it, --force replaces it.");
    return {};
  }

  /// The options as changes of one array.
  [[nodiscard]] Result<CopyChanges> changes_for(const Dataset& dataset) const {
    CopyChanges changes;
    if (region_) {
      PENSTOCK_ASSIGN_IN(changes.region, parse_region(*region_, dataset.shape), "--region");
    }
    PENSTOCK_TRY(layout_.put_into(changes, dataset));
    if (format_) changes.zarr_format = *format_ == "2" ? 2 : 3;
    changes.dimension_separator = separator_;
    return changes;
  }
};

}  // namespace

std::unique_ptr<Command> make_copy() { return std::make_unique<Copy>(); }

}  // namespace penstock::cli
