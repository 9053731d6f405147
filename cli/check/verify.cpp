// penstock verify
#include <fmt/format.h>

#include <cstdio>

#include "cli/commands.hpp"
#include "cli/kit/command.hpp"
#include "cli/kit/progress.hpp"
#include "cli/nodes/describe.hpp"
#include "cli/nodes/walk.hpp"
#include "core/json.hpp"
#include "core/units.hpp"
#include "penstock/raster.hpp"

namespace penstock::cli {
namespace {

class Verify : public Command {
  std::string store_;
  bool json_ = false, clean_ = false;
  StoreWords words_;
  Resources resources_;
  std::uint64_t bad_ = 0;
  std::uint64_t bad_nodes_ = 0;  ///< members of the hierarchy whose metadata cannot be read
  std::uint64_t bad_images_ = 0;

 public:
  void usage(Usage& usage) override {
    usage.about(
        "Decodes every chunk of an array, of a raster with its overviews and masks, or of all arrays below a group, "
        "and lists the bad ones by key and byte. Checksums are checked where the codecs, or a zip, have some; images "
        "are checked by the rules of OME-NGFF. Exit code 65 when something is bad.");
    usage.argument("STORE", store_, "array or group");
    words_.declare(usage);
    usage.flag("--clean", clean_, "first remove the temporary files that killed writers left, and list them");
    usage.flag("--json", json_, "print JSON: a report for each array");
    resources_.declare(usage);
    resources_.declare_talk(usage, "also print, to standard error, how each array was read");
    usage.example("penstock verify brain.ome.zarr/0", "one array");
    usage.example("penstock verify --clean brain.ome.zarr", "after a writer was killed");
    usage.example("penstock verify --json brain.ome.zarr", "all arrays, for a program");
  }

  Result<int> run(Session& session) override {
    PENSTOCK_ASSIGN(const Options options, resources_.options());
    const ProgressEnd end;
    PENSTOCK_ASSIGN(const StoreOptions how, words_.options());
    PENSTOCK_ASSIGN(const Node node, open_node(store_, how, clean_ ? StoreMode::read_write : StoreMode::read));
    Json list = Json::array(), removed = Json::array();
    if (clean_) PENSTOCK_TRY(clean(session, removed, node));
    if (const auto* array = std::get_if<Array>(&node)) {
      PENSTOCK_TRY(one(session, list, "", *array, options));
      if (is_raster(array->dataset())) PENSTOCK_TRY(levels(session, list, *array, options));
    } else {
      const auto visit = [&](const std::string& name, const Node& below, int, bool) {
        const auto* array_below = std::get_if<Array>(&below);
        return array_below ? one(session, list, name, *array_below, options)
                           : image(session, list, name, std::get<Group>(below));
      };
      PENSTOCK_TRY(image(session, list, "", std::get<Group>(node)));
      const auto broken = [&](const std::string& name, const Error& error, int, bool) {
        ++bad_nodes_;
        list.push_back({{"path", name}, {"error", error.message()}});
        if (!json_) session.out.print(fmt::format(" bad  {}  {}\n", name, error.message()));
        return session.out.status();
      };
      PENSTOCK_TRY(walk(std::get<Group>(node), 64, visit, broken));
    }
    Json document{
        {"arrays", std::move(list)}, {"bad_chunks", bad_}, {"bad_nodes", bad_nodes_}, {"bad_images", bad_images_}};
    if (clean_) document["removed"] = std::move(removed);
    if (json_) session.out.json(document);
    return bad_ + bad_nodes_ + bad_images_ > 0 ? error_exit_code(ErrorCode::corrupt_data) : 0;
  }

 private:
  Status clean(Session& session, Json& removed, const Node& node) const {
    const auto [store, path] = std::visit([](const auto& n) { return std::pair(n.store_ptr(), n.path()); }, node);
    PENSTOCK_ASSIGN(const std::vector<std::string> files, store->remove_litter(path));
    for (const std::string& file : files) {
      removed.push_back(file);
      if (!json_) session.out.print(fmt::format(" removed  {}\n", file));
    }
    return {};
  }

  /// What OME-NGFF says of a group that is an image.
  Status image(Session& session, Json& list, const std::string& name, const Group& group) {
    const auto checked = group.image_problems();
    const std::vector<std::string> problems = checked ? *checked : std::vector{checked.error().message()};
    if (problems.empty()) return {};
    ++bad_images_;
    list.push_back({{"path", name}, {"image_problems", problems}});
    for (const std::string& problem : problems)
      if (!json_) session.out.print(fmt::format(" bad  {}  {}\n", name.empty() ? store_ : name, problem));
    return session.out.status();
  }

  /// Overviews and masks of a raster file.
  Status levels(Session& session, Json& list, const Array& array, const Options& options) {
    PENSTOCK_ASSIGN(const Raster raster, Raster::open(array.store_ptr(), array.path()));
    for (std::size_t k = 0; k < raster.level_count(); ++k) {
      const std::string name = fmt::format("level {}", k);
      if (k > 0) {
        PENSTOCK_ASSIGN(const Array level, raster.level(k));
        PENSTOCK_TRY(one(session, list, name, level, options));
      }
      PENSTOCK_ASSIGN(const std::optional<Array> mask, raster.mask(k));
      if (mask) PENSTOCK_TRY(one(session, list, "mask of " + name, *mask, options));
    }
    return {};
  }

  Status one(Session& session, Json& list, const std::string& name, const Array& array, const Options& options) {
    PENSTOCK_ASSIGN_IN(const Report report, array.verify(options), joined(store_, name));
    bad_ += report.problems.size();
    if (json_) {
      PENSTOCK_ASSIGN(Json entry, parse_json(report.json()));
      entry["path"] = name;
      list.push_back(std::move(entry));
      return {};
    }
    if (resources_.verbose) {
      progress_done();
      std::fputs(report.text().c_str(), stderr);
    }
    if (resources_.quiet && report.problems.empty()) return {};
    const std::uint64_t bad = std::min<std::uint64_t>(report.problems.size(), report.chunks);
    const std::uint64_t absent = std::min(report.absent_chunks, report.chunks - bad);
    std::string line = fmt::format("{} chunk{}: {} good", format_count(report.chunks), report.chunks == 1 ? "" : "s",
                                   format_count(report.chunks - bad - absent));
    if (absent > 0) line += fmt::format(", {} absent (fill value)", format_count(absent));
    if (bad > 0) line += colored(fmt::format(", {} bad", format_count(bad)), "31", session.color);
    session.out.print(fmt::format(" {}{}{}\n", name, name.empty() ? "" : "  ", line));
    for (const ChunkProblem& problem : report.problems)
      session.out.print(fmt::format(" bad  {}  {}\n", problem.key, problem.message));
    return session.out.flush();  // what is known is shown, also when a later array fails
  }
};

}  // namespace

std::unique_ptr<Command> make_verify() { return std::make_unique<Verify>(); }

}  // namespace penstock::cli
