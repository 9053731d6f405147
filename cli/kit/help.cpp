// penstock help and penstock version
#include "cli/kit/help.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "cli/commands.hpp"
#include "cli/kit/command.hpp"
#include "cli/kit/table.hpp"
#include "cli/kit/version.hpp"

namespace penstock::cli {
namespace {

Usage usage_of(const CommandEntry& entry) {
  Usage usage;
  entry.make()->usage(usage);  // pointers into the dead command are not followed: only the texts are used
  return usage;
}

class Help : public Command {
  std::vector<std::string> topic_;  // "bench codecs" is two words
  bool markdown_ = false;

 public:
  void usage(Usage& usage) override {
    Argument& topic = usage.argument("COMMAND", topic_, "the command to explain");
    topic.kind = ValueKind::choice;
    for (const CommandEntry& entry : commands())
      if (!entry.group.empty()) topic.suggestions.emplace_back(entry.name);
    usage.flag("--markdown", markdown_, "the reference of all commands, as docs/reference/commands.md holds it");
    usage.example("penstock help copy", "how to copy");
    usage.example("penstock help --markdown > docs/reference/commands.md", "write the reference page again");
  }

  Result<int> run(Session& session) override {
    if (markdown_) {
      session.out.print(reference_page());
      return 0;
    }
    if (topic_.empty()) {
      session.out.print(overview());
      return 0;
    }
    const std::string name = fmt::format("{}", fmt::join(topic_, " "));
    const CommandEntry* entry = find_command(name);
    if (entry == nullptr) {
      if (const std::string family = family_overview(name); !family.empty()) {
        session.out.print(family);
        return 0;
      }
      std::vector<std::string> known;
      for (const CommandEntry& e : commands())
        if (!e.group.empty()) known.emplace_back(e.name);
      PENSTOCK_TRY(check_choice("COMMAND", name, known));
    }
    session.out.print(usage_of(*entry).help(entry->name, entry->summary));
    return 0;
  }
};

class Version : public Command {
 public:
  void usage(Usage& usage) override { usage.example("penstock version", "also --version and -V"); }
  Result<int> run(Session& session) override {
    session.out.print(fmt::format("penstock {} ({})\n", version(), commit()));
    return 0;
  }
};

}  // namespace

std::unique_ptr<Command> make_version() { return std::make_unique<Version>(); }

std::unique_ptr<Command> make_help() { return std::make_unique<Help>(); }

namespace {

/// A line for each, under the name of its group.
std::string lines_of(std::span<const CommandEntry* const> entries) {
  std::size_t width = 0;
  for (const CommandEntry* entry : entries) width = std::max(width, entry->name.size());
  std::string out;
  std::string_view group;
  for (const CommandEntry* entry : entries) {
    if (entry->group != group) out += fmt::format("{}{}:\n", group.empty() ? "" : "\n", entry->group);
    group = entry->group;
    out += two_columns({{std::string(entry->name), std::string(entry->summary)}}, width);
  }
  return out;
}

/// Those that `penstock help` shows and whose names begin so.
std::vector<const CommandEntry*> shown(std::string_view prefix) {
  std::vector<const CommandEntry*> entries;
  for (const CommandEntry& entry : commands())
    if (!entry.group.empty() && entry.name.starts_with(prefix)) entries.push_back(&entry);
  return entries;
}

}  // namespace

std::string family_overview(std::string_view first) {
  const std::vector<const CommandEntry*> entries = shown(fmt::format("{} ", first));
  if (entries.empty()) return {};
  return fmt::format(
      "usage: penstock {0} COMMAND [options] ...\n\n{1}\npenstock {0} COMMAND --help   arguments and "
      "examples of a command\n",
      first, lines_of(entries));
}

std::string overview() {
  std::string out =
      "penstock: chunked scientific arrays, from storage to the processor and back\n\n"
      "usage: penstock COMMAND [options] ...\n\n";
  out += lines_of(shown(""));
  out +=
      "\npenstock COMMAND --help   arguments and examples of a command\n"
      "penstock --version        version and commit (-V)\n";
  return out;
}

std::string reference_page() {
  std::string out =
      "# Commands\n\n"
      "Written by `penstock help --markdown`; change the `usage()` of a command in `cli/`, not this page.\n\n"
      "Results go to standard output, everything else to standard error. An error is one line that says what, where "
      "and "
      "why, and where it helps a second one that says what to do.\n";
  for (const CommandEntry& entry : commands())
    if (!entry.group.empty()) out += "\n" + usage_of(entry).markdown(entry.name, entry.summary);
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
