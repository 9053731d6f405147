// penstock help
#include "cli/kit/help.hpp"

#include <fmt/format.h>

#include <map>

#include "cli/commands.hpp"
#include "cli/kit/command.hpp"
#include "cli/kit/table.hpp"

namespace penstock::cli {
namespace {

Usage usage_of(const CommandEntry& entry) {
  Usage usage;
  entry.make()->usage(usage);  // pointers into the dead command are not followed: only the texts are used
  return usage;
}

class Help : public Command {
  std::optional<std::string> topic_;
  bool markdown_ = false;

 public:
  void usage(Usage& usage) override {
    Argument& topic = usage.argument("COMMAND", topic_, "the command to explain");
    topic.kind = ValueKind::choice;
    for (const CommandEntry& entry : commands()) topic.choices.emplace_back(entry.name);
    usage.flag("--markdown", markdown_, "the reference of all commands, as docs/reference/commands.md holds it");
    usage.example("penstock help copy", "how to copy");
    usage.example("penstock help --markdown > docs/reference/commands.md", "write the reference page again");
  }

  Result<int> run(Session& session) override {
    if (markdown_) {
      session.out.print(reference_page());
      return 0;
    }
    if (!topic_) {
      session.out.print(overview());
      return 0;
    }
    const CommandEntry& entry = *find_command(*topic_);  // parsing has checked it
    session.out.print(usage_of(entry).help(entry.name, entry.summary));
    return 0;
  }
};

}  // namespace

std::unique_ptr<Command> make_help() { return std::make_unique<Help>(); }

std::string overview() {
  std::string out =
      "penstock: chunked scientific arrays, from storage to the processor and back\n\n"
      "usage: penstock COMMAND [options] ...\n\n";
  Table table("ll");
  for (const CommandEntry& entry : commands()) table.row({std::string(entry.name), std::string(entry.summary)});
  out += table.text("  ");
  out +=
      "\npenstock COMMAND --help   arguments and examples of a command\n"
      "penstock --version        version and commit\n";
  return out;
}

std::string reference_page() {
  std::string out =
      "# Commands\n\n"
      "Written by `penstock help --markdown`; change the `usage()` of a command in `cli/`, not this page.\n\n"
      "Results go to standard output, everything else to standard error. An error is one line that says what, where "
      "and "
      "why, and where it helps a second one that says what to do.\n";
  for (const CommandEntry& entry : commands()) out += "\n" + usage_of(entry).markdown(entry.name, entry.summary);
  out += "\n## Exit codes\n\n| code | meaning |\n|---|---|\n| 0 | done |\n";
  std::map<int, std::string> codes;
#define PENSTOCK_ERROR(name, meaning, python, exit_code) \
  codes[exit_code] += (codes[exit_code].empty() ? "" : ", ") + std::string(meaning);
#include "penstock/error_codes.def"
#undef PENSTOCK_ERROR
  codes[130] = "cancelled by Ctrl-C";
  codes[141] = "the reader of standard output has gone";
  codes[143] = "cancelled by SIGTERM";
  for (const auto& [code, meaning] : codes) out += fmt::format("| {} | {} |\n", code, meaning);
  return out;
}

}  // namespace penstock::cli
