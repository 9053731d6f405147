// penstock copy
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "cli/codec_text.hpp"
#include "cli/command.hpp"
#include "cli/copy_work.hpp"
#include "cli/list.hpp"
#include "cli/target.hpp"
#include "cli/walk.hpp"
#include "core/units.hpp"

namespace penstock::cli {
namespace {

/// "64,64,64" or "64x64x64"; one number stands for all dimensions.
Result<Shape> parse_shape(const std::string& text, std::size_t rank) {
  Shape shape;
  const auto bad = [&] {
    return Error(ErrorCode::invalid_argument,
                 fmt::format("'{}' is no shape of {} dimension{}; write {}", text, rank, rank == 1 ? "" : "s",
                             rank == 0 ? "nothing" : "numbers over 0, e.g. 64,64,64, or one for all"));
  };
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(",x", at), text.size());
    const auto extent = parse_count(std::string_view(text).substr(at, end - at));
    if (!extent || *extent == 0) return bad();
    shape.push_back(*extent);
    at = end + 1;
  }
  if (shape.size() == 1) shape.resize(rank, shape[0]);
  if (shape.size() != rank) return bad();
  return shape;
}

class Copy : public Command {
  std::string from_, to_;
  std::optional<std::string> region_, chunks_, shards_, codec_, format_, separator_, downsample_, levels_;
  bool pyramid_ = false, resume_ = false, force_ = false, dry_run_ = false, json_ = false;
  StoreWords words_;
  Resources resources_;

 public:
  void usage(Usage& usage) override {
    usage.about(
        "Copies an array, or a group with all that is below it, in bounded memory. What is not asked for stays as it "
        "is. "
        "Objects appear whole and the metadata comes last: a copy that is stopped leaves no array that looks complete, "
        "and --resume goes on with it.");
    usage.argument("FROM", from_, "array or group");
    usage.argument("TO", to_, "a new directory, or a new file that ends in .zip");
    usage.option("--region", "R", region_, "only this region of an array, with NumPy's rules");
    usage.option("--chunks", "SHAPE", chunks_, "shape of the chunks, e.g. 64,64,64; one number for all dimensions");
    usage.option("--shards", "SHAPE", shards_,
                 "put chunks together in shards of this shape (zarr v3); none: no shards");
    usage.option(
        "--codec", "CODEC", codec_,
        "how chunks are compressed: zstd:level=3, blosc:cname=lz4,clevel=5, gzip, none, ..., or JSON as in zarr v3 "
        "metadata");
    Option& format = usage.option("--zarr-format", "N", format_, "2 or 3");
    format.kind = ValueKind::choice;
    format.choices = {"2", "3"};
    Option& separator = usage.option("--separator", "S", separator_, "between the numbers of a chunk's key: / or .");
    separator.kind = ValueKind::choice;
    separator.choices = {"/", "."};
    usage.flag("--pyramid", pyramid_, "write an OME-NGFF image: the array as level 0, and coarser levels of it");
    Option& downsample =
        usage.option("--downsample", "HOW", downsample_, "with --pyramid: mean (default), or nearest for labels");
    downsample.kind = ValueKind::choice;
    downsample.choices = {"mean", "nearest"};
    usage.option("--levels", "N", levels_, "with --pyramid: how many levels; default until 256 or less");
    usage.flag("--resume", resume_, "go on with a copy that was stopped");
    usage.flag("--force", force_, "replace an array or group at TO");
    words_.declare_durable(usage);
    words_.declare_links(usage);
    usage.flag("--dry-run", dry_run_, "print what would be written, write nothing");
    usage.flag("--json", json_, "print the report as JSON");
    resources_.declare(usage);
    usage.example("penstock copy vol.zarr/0 small.zarr --region 0:100,:,:", "a part");
    usage.example("penstock copy old.zarr new.zarr --zarr-format 3 --chunks 64 --shards 512 --codec zstd:level=3",
                  "from v2 to sharded v3");
    usage.example("penstock copy vol.zarr vol.zip", "into one file");
    usage.example("penstock copy vol.zarr/0 image.ome.zarr --pyramid", "an image with its pyramid");
  }

  Result<int> run(Session& session) override {
    PENSTOCK_TRY(check_options());
    PENSTOCK_ASSIGN(const Options options, resources_.options());
    const ProgressEnd end;
    PENSTOCK_ASSIGN(const StoreOptions how, words_.options());
    PENSTOCK_ASSIGN(const Node node, open_node(from_, how));
    CopyJob job;
    job.store = how;
    job.force = force_ ? Array::IfExists::overwrite : Array::IfExists::fail;
    job.resume = resume_ ? Resume::yes : Resume::no;
    job.options = options;
    job.changes = [this](const Dataset& dataset) { return changes_for(dataset); };
    if (format_) job.zarr_format = *format_ == "2" ? 2 : 3;
    PENSTOCK_TRY(set_pyramid(job));
    if (std::holds_alternative<Group>(node) && region_ && !pyramid_)
      return Error(ErrorCode::invalid_argument, "--region: a region is of one array; name one inside the group");
    PENSTOCK_TRY(check_target());
    const TargetNode target = split_target(to_);
    PENSTOCK_ASSIGN(const CopyPlan plan, plan_copy(job, node));  // also: nothing is begun that cannot be done
    std::fputs(plan.losses.c_str(), stderr);
    if (dry_run_) {
      if (json_)
        session.out.json(plan.json);
      else
        session.out.print(plan.text);
      return 0;
    }
    Result<Report> copied = run_copy(job, node, target);
    if (!copied && copied.error().code() == ErrorCode::cancelled && !pyramid_ && !force_ && !to_.ends_with(".zip"))
      copied.error().set_hint("the same command with --resume goes on.");
    PENSTOCK_ASSIGN(const Report report, std::move(copied));
    if (json_) {
      PENSTOCK_ASSIGN(const Json document, parse_json(report.json()));
      session.out.json(document);
    } else {
      session.out.print(report.text());
    }
    return 0;
  }

 private:
  [[nodiscard]] Status check_options() const {
    const auto refuse = [](std::string text) { return Error(ErrorCode::invalid_argument, std::move(text)); };
    if (!pyramid_ && (downsample_ || levels_)) return refuse("--downsample and --levels go with --pyramid");
    if (resume_ && pyramid_) return refuse("--resume and --pyramid: copy first, then write the pyramid of the copy");
    if (resume_ && force_) return refuse("--resume keeps what is there, --force replaces it: choose one");
    return {};
  }

  [[nodiscard]] Status set_pyramid(CopyJob& job) const {
    if (!pyramid_) return {};
    job.pyramid = PyramidOptions{};
    if (downsample_ == "nearest") job.pyramid->method = Downsample::nearest;
    if (levels_) {
      PENSTOCK_ASSIGN_IN(const std::uint64_t levels, parse_count(*levels_), "--levels");
      if (levels < 1 || levels > 32) return Error(ErrorCode::invalid_argument, "--levels: must be from 1 to 32");
      job.pyramid->levels = static_cast<int>(levels);
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
    if (chunks_) {
      PENSTOCK_ASSIGN_IN(changes.chunk_shape, parse_shape(*chunks_, dataset.rank()), "--chunks");
    }
    if (shards_ && *shards_ == "none") changes.shard_shape = Shape{};
    if (shards_ && *shards_ != "none") {
      PENSTOCK_ASSIGN_IN(changes.shard_shape, parse_shape(*shards_, dataset.rank()), "--shards");
    }
    if (codec_) {
      PENSTOCK_ASSIGN_IN(changes.compressors, parse_codecs(*codec_, dataset.dtype), "--codec " + *codec_);
    }
    if (format_) changes.zarr_format = *format_ == "2" ? 2 : 3;
    changes.dimension_separator = separator_;
    return changes;
  }
};

}  // namespace

std::unique_ptr<Command> make_copy() { return std::make_unique<Copy>(); }

}  // namespace penstock::cli
