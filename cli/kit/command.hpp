// What every command of `penstock` is.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "cli/kit/session.hpp"
#include "cli/kit/usage.hpp"

namespace penstock::cli {

/// A command: `usage` declares its arguments, `run` does the work once they are filled in.
class Command {
 public:
  Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  virtual ~Command() = default;
  virtual void usage(Usage& usage) = 0;
  /// The exit code, or the error that main prints.
  virtual Result<int> run(Session& session) = 0;
};

/// A row of the list in main.cpp.
struct CommandEntry {
  std::string_view group;  ///< "look", "change", ...: its heading in `penstock help`; empty: not listed
  std::string_view name;
  std::string_view summary;  ///< one line
  std::function<std::unique_ptr<Command>()> make;
};

/// All commands, in the order of `penstock help`; those of a group stand together.
std::span<const CommandEntry> commands();
/// nullptr when there is no such command.
const CommandEntry* find_command(std::string_view name);

}  // namespace penstock::cli
