#include "cli/kit/usage.hpp"

#include <fmt/format.h>

#include "cli/kit/table.hpp"

namespace penstock::cli {
namespace {

/// The letters, the same in every command.
constexpr std::pair<std::string_view, char> kLetters[] = {{"--force", 'f'},  {"--output", 'o'},  {"--quiet", 'q'},
                                                          {"--region", 'r'}, {"--threads", 'j'}, {"--verbose", 'v'}};

std::string shown(const Option& o) {
  const std::string name = o.letter == 0 ? o.name : fmt::format("-{}, {}", o.letter, o.name);
  return o.value.empty() ? name : name + " " + o.value;
}

/// Lines of what a command says of itself.
std::vector<std::string_view> about_lines(std::string_view about) {
  std::vector<std::string_view> lines;
  while (true) {
    const std::size_t end = about.find('\n');
    lines.push_back(about.substr(0, end));
    if (end == std::string_view::npos || end + 1 == about.size()) return lines;
    about.remove_prefix(end + 1);
  }
}
/// Whether a line is an item of a list.
bool is_item(std::string_view line) { return line.starts_with("  "); }

/// Wrapped to the page; its first line begins with `first`, the others with `next`.
std::string paragraph(std::string_view text, std::string_view first = "", std::string_view next = "") {
  std::string out;
  for (const std::string& line : wrap(text, page_width() - next.size()))
    out += fmt::format("{}{}\n", out.empty() ? first : next, line);
  return out;
}

std::string about_help(std::string_view about) {
  std::string out;
  for (const std::string_view line : about_lines(about))
    out += is_item(line) ? paragraph(line, "  ", "      ") : paragraph(line);
  return out;
}
std::string about_markdown(std::string_view about) {
  std::string out;
  bool in_list = false;
  for (const std::string_view line : about_lines(about)) {
    if (is_item(line) && !in_list) out += "\n";
    in_list = is_item(line);
    out += in_list ? fmt::format("* {}\n", line.substr(2)) : fmt::format("{}\n", line);
  }
  return out;
}

}  // namespace

template <class Into>
Argument& Usage::add_argument(std::string name, Into& into, std::string help) {
  Argument& added = arguments_.emplace_back();
  added.name = std::move(name);
  added.help = std::move(help);
  added.into = &into;
  return added;
}
template <class Into>
Option& Usage::add_option(std::string name, std::string value, Into& into, std::string help) {
  Option& added = options_.emplace_back();
  added.name = std::move(name);
  added.value = std::move(value);
  added.help = std::move(help);
  added.into = &into;
  for (const auto& [known, letter] : kLetters)
    if (known == added.name) added.letter = letter;
  return added;
}

Argument& Usage::argument(std::string name, std::string& into, std::string help) {
  return add_argument(std::move(name), into, std::move(help));
}
Argument& Usage::argument(std::string name, std::optional<std::string>& into, std::string help) {
  return add_argument(std::move(name), into, std::move(help));
}
Argument& Usage::argument(std::string name, std::vector<std::string>& into, std::string help) {
  return add_argument(std::move(name), into, std::move(help));
}
Option& Usage::flag(std::string name, bool& into, std::string help) {
  return add_option(std::move(name), "", into, std::move(help));
}
Option& Usage::option(std::string name, std::string value, std::optional<std::string>& into, std::string help) {
  return add_option(std::move(name), std::move(value), into, std::move(help));
}
Option& Usage::option(std::string name, std::string value, std::vector<std::string>& into, std::string help) {
  return add_option(std::move(name), std::move(value), into, std::move(help));
}

std::string Usage::line(std::string_view command) const {
  std::string text = fmt::format("penstock {}", command);
  if (!options_.empty()) text += " [options]";
  for (const Argument& a : arguments_) {
    const std::string shown = a.name + (a.takes_many() ? "..." : "");
    text += a.required() ? " " + shown : " [" + shown + "]";
  }
  return text;
}

std::string Usage::help(std::string_view command, std::string_view summary) const {
  std::string out = paragraph(fmt::format("penstock {}: {}", command, summary));
  out += fmt::format("\nusage: {}\n", line(command));
  if (!arguments_.empty()) {
    std::vector<std::pair<std::string, std::string>> rows;
    for (const Argument& a : arguments_) rows.emplace_back(a.name, a.help);
    out += "\n" + two_columns(rows);
  }
  if (!options_.empty()) {
    std::vector<std::pair<std::string, std::string>> rows;
    for (const Option& o : options_) rows.emplace_back(shown(o), o.help);
    out += "\noptions:\n" + two_columns(rows);
  }
  if (!about_.empty()) out += "\n" + about_help(about_);
  if (!examples_.empty()) {
    out += "\nexamples:\n";
    for (const Example& e : examples_) out += fmt::format("  # {}\n  {}\n", e.what, e.line);
  }
  return out;
}

std::string Usage::markdown(std::string_view command, std::string_view summary) const {
  std::string out = fmt::format("## penstock {}\n\n{}.\n\n```\n{}\n```\n", command, summary, line(command));
  if (!about_.empty()) out += "\n" + about_markdown(about_);
  const auto escaped = [](std::string_view text) {
    std::string copy;
    for (const char c : text) copy += c == '|' ? std::string("\\|") : std::string(1, c);
    return copy;
  };
  if (!arguments_.empty() || !options_.empty()) {
    out += "\n| argument | meaning |\n|---|---|\n";
    for (const Argument& a : arguments_) out += fmt::format("| `{}` | {} |\n", a.name, escaped(a.help));
    for (const Option& o : options_) out += fmt::format("| `{}` | {} |\n", escaped(shown(o)), escaped(o.help));
  }
  if (!examples_.empty()) {
    out += "\n```\n";
    for (const Example& e : examples_) out += fmt::format("{}   # {}\n", e.line, e.what);
    out += "```\n";
  }
  return out;
}

}  // namespace penstock::cli
