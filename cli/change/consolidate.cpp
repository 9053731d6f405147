// penstock consolidate
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/kit/command.hpp"
#include "cli/kit/usage.hpp"
#include "cli/nodes/walk.hpp"

namespace penstock::cli {
namespace {

class Consolidate : public Command {
  std::string group_;
  StoreWords words_;

 public:
  void usage(Usage& usage) override {
    usage.about(
        "Writes the metadata of all arrays and groups below a group once more into the group's own, as zarr-python's "
        "consolidate_metadata does, so that other programs open it with one read. Penstock itself reads what stands. "
        "Every change by penstock below the group makes them anew.");
    usage.argument("GROUP", group_, "a group");
    words_.declare_durable(usage);
    words_.declare(usage);
    usage.example("penstock consolidate brain.zarr", "after another program has changed something in it");
  }

  Result<int> run(Session& session) override {
    PENSTOCK_ASSIGN(const StoreOptions how, words_.options());
    PENSTOCK_ASSIGN(const Node node, open_node(group_, how, StoreMode::read_write));
    const auto* group = std::get_if<Group>(&node);
    if (group == nullptr)
      return Error(ErrorCode::invalid_argument, group_ + ": an array; only groups have consolidated metadata");
    PENSTOCK_TRY(group->consolidate());
    PENSTOCK_TRY(group->store_ptr()->flush());
    std::uint64_t nodes = 0;
    PENSTOCK_TRY(walk(*group, 64, [&](const std::string&, const Node&, int, bool) {
      ++nodes;
      return Status();
    }));
    session.out.print(fmt::format(" {}: metadata of {} node{} below\n", group_, nodes, nodes == 1 ? "" : "s"));
    return 0;
  }
};

}  // namespace

std::unique_ptr<Command> make_consolidate() { return std::make_unique<Consolidate>(); }

}  // namespace penstock::cli
