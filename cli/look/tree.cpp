// penstock tree
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/kit/command.hpp"
#include "cli/nodes/describe.hpp"
#include "cli/nodes/walk.hpp"
#include "core/json.hpp"
#include "core/units.hpp"

namespace penstock::cli {
namespace {

class Tree : public Command {
  std::string store_;
  std::optional<std::string> depth_;
  bool json_ = false;
  StoreWords words_;

 public:
  void usage(Usage& usage) override {
    usage.about("Shows the groups and arrays below a node, as they stand; consolidated metadata is not asked.");
    usage.argument("STORE", store_, "array or group");
    usage.option("--depth", "N", depth_, "levels to show; default all");
    words_.declare(usage);
    usage.flag("--json", json_, "print JSON: a list of nodes, each with its path");
    usage.example("penstock tree brain.ome.zarr", "the whole hierarchy");
    usage.example("penstock tree --depth 1 plate.ome.zarr", "only the first level");
  }

  Result<int> run(Session& session) override {
    int depth = 64;
    if (depth_) {
      PENSTOCK_ASSIGN_IN(const std::uint64_t wanted, parse_count(*depth_), "--depth");
      depth = static_cast<int>(std::min<std::uint64_t>(wanted, 64));
    }
    PENSTOCK_ASSIGN(const StoreOptions how, words_.options());
    PENSTOCK_ASSIGN(const Node node, open_node(store_, how));
    Json list = Json::array();
    int exit_code = 0;  // that of the last node that cannot be read
    PENSTOCK_TRY(add(session, list, store_, "", "", node));
    if (const auto* group = std::get_if<Group>(&node)) {
      std::vector<bool> last_at;  // of the ancestors
      const auto lines_of = [&](int level, bool last) {
        last_at.resize(static_cast<std::size_t>(level));
        std::string lines;
        for (const bool l : last_at) lines += l ? "    " : bar();
        last_at.push_back(last);
        return lines + (last ? corner() : tee());
      };
      const auto visit = [&](const std::string& name, const Node& below, int level, bool last) {
        return add(session, list, name.substr(name.rfind('/') + 1), name, lines_of(level, last), below);
      };
      const auto broken = [&](const std::string& name, const Error& error, int level, bool last) {
        exit_code = error_exit_code(error.code());
        list.push_back({{"path", name}, {"error", error.message()}});
        if (!json_)
          session.out.print(fmt::format("{}{}  cannot be read: {}\n", lines_of(level, last),
                                        name.substr(name.rfind('/') + 1), error.message()));
        return session.out.status();
      };
      PENSTOCK_TRY(walk(*group, depth, visit, broken));
    }
    if (json_) session.out.json(list);
    return exit_code;
  }

 private:
  static std::string bar() { return utf8_locale() ? "│   " : "|   "; }
  static std::string tee() { return utf8_locale() ? "├── " : "|-- "; }
  static std::string corner() { return utf8_locale() ? "└── " : "`-- "; }

  Status add(Session& session, Json& list, const std::string& shown, const std::string& path, const std::string& lines,
             const Node& node) const {
    if (json_) {
      Json entry = {{"path", path}};
      if (const auto* array = std::get_if<Array>(&node)) {
        PENSTOCK_ASSIGN_IN(const Json document, dataset_json(array->dataset()), path);
        entry.update(document);
      } else {
        entry["node_type"] = "group";
        entry["zarr_format"] = std::get<Group>(node).info().format.version;
      }
      list.push_back(std::move(entry));
      return {};
    }
    if (const auto* array = std::get_if<Array>(&node)) {
      const Dataset dataset = array->dataset();
      PENSTOCK_ASSIGN_IN(const std::string chunks, chunks_text(dataset), path);
      session.out.print(fmt::format("{}{}  {}  {}  {}  {}\n", lines, shown, shape_text(dataset), dataset.dtype.name(),
                                    chunks, codecs_text(dataset)));
    } else {
      session.out.print(fmt::format("{}{}\n", lines, colored(shown, "1", session.color)));
    }
    return session.out.status();
  }
};

}  // namespace

std::unique_ptr<Command> make_tree() { return std::make_unique<Tree>(); }

}  // namespace penstock::cli
