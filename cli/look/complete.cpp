// penstock --complete P: what completion scripts ask for paths that go on inside a store.
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/kit/command.hpp"
#include "cli/nodes/describe.hpp"
#include "penstock/array.hpp"

namespace penstock::cli {
namespace {

class Complete : public Command {
  std::string begun_;

 public:
  void usage(Usage& usage) override {
    usage.about("Prints the members of a group whose paths begin with P, a line each; nothing where P is in no group.");
    usage.argument("P", begun_, "the beginning of a path");
    usage.example("penstock --complete vol.zip/im", "vol.zip/image/");
  }

  Result<int> run(Session& session) override {
    const std::size_t slash = begun_.rfind('/');
    if (slash == std::string::npos || slash == 0) return 0;
    const std::string parent = begun_.substr(0, slash);
    const auto node = open(parent, StoreMode::read);  // an error is no group to complete from
    if (!node || !std::holds_alternative<Group>(*node)) return 0;
    PENSTOCK_ASSIGN(const auto members, std::get<Group>(*node).members());
    for (const Group::Member& m : members)
      if (m.name.starts_with(begun_.substr(slash + 1)))
        session.out.print(fmt::format("{}/{}{}\n", parent, m.name, m.is_array ? "" : "/"));
    return 0;
  }
};

}  // namespace

std::unique_ptr<Command> make_complete() { return std::make_unique<Complete>(); }

}  // namespace penstock::cli
