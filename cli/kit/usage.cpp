#include "cli/kit/usage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/kit/suggest.hpp"
#include "cli/kit/table.hpp"

namespace penstock::cli {
namespace {

std::string shown(const Option& o) { return o.value.empty() ? o.name : o.name + " " + o.value; }

/// Two columns, the second wrapped to the width of a terminal.
std::string two_columns(const std::vector<std::pair<std::string, std::string>>& rows) {
  constexpr std::size_t kWidth = 100;
  std::size_t left = 0;
  for (const auto& [name, help] : rows) left = std::max(left, name.size());
  left = std::min<std::size_t>(left, 28);
  std::string out;
  for (const auto& [name, help] : rows) {
    out += fmt::format("  {:<{}}", name, left);
    if (name.size() > left) out += fmt::format("\n  {:<{}}", "", left);
    bool first = true;
    for (const std::string& line : wrap(help, kWidth - left - 4)) {
      if (!first) out += fmt::format("  {:<{}}", "", left);
      out += fmt::format("  {}\n", line);
      first = false;
    }
  }
  return out;
}

}  // namespace

Argument& Usage::argument(std::string name, std::string& into, std::string help) {
  return arguments_.emplace_back(Argument{std::move(name), std::move(help), &into, ValueKind::path, {}});
}
Argument& Usage::argument(std::string name, std::optional<std::string>& into, std::string help) {
  return arguments_.emplace_back(Argument{std::move(name), std::move(help), &into, ValueKind::path, {}});
}
Argument& Usage::argument(std::string name, std::vector<std::string>& into, std::string help) {
  return arguments_.emplace_back(Argument{std::move(name), std::move(help), &into, ValueKind::path, {}});
}
Option& Usage::flag(std::string name, bool& into, std::string help) {
  return options_.emplace_back(Option{std::move(name), "", std::move(help), &into, ValueKind::text, {}});
}
Option& Usage::option(std::string name, std::string value, std::optional<std::string>& into, std::string help) {
  return options_.emplace_back(Option{std::move(name), std::move(value), std::move(help), &into, ValueKind::text, {}});
}
Option& Usage::option(std::string name, std::string value, std::vector<std::string>& into, std::string help) {
  return options_.emplace_back(Option{std::move(name), std::move(value), std::move(help), &into, ValueKind::text, {}});
}

std::string Usage::line(std::string_view command) const {
  std::string text = fmt::format("penstock {}", command);
  if (!options_.empty()) text += " [options]";
  for (const Argument& a : arguments_) {
    const bool many = std::holds_alternative<std::vector<std::string>*>(a.into);
    text += fmt::format(fmt::runtime(a.required() ? " {}" : many ? " [{}...]" : " [{}]"), a.name);
  }
  return text;
}

std::string Usage::help(std::string_view command, std::string_view summary) const {
  std::string out = fmt::format("penstock {}: {}\n\nusage: {}\n", command, summary, line(command));
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
  if (!about_.empty()) {
    out += "\n";
    for (const std::string& l : wrap(about_, 100)) out += l + "\n";
  }
  if (!examples_.empty()) {
    out += "\nexamples:\n";
    for (const Example& e : examples_) out += fmt::format("  # {}\n  {}\n", e.what, e.line);
  }
  return out;
}

std::string Usage::markdown(std::string_view command, std::string_view summary) const {
  std::string out = fmt::format("## penstock {}\n\n{}.\n\n```\n{}\n```\n", command, summary, line(command));
  if (!about_.empty()) out += fmt::format("\n{}\n", about_);
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

Status check_choice(std::string_view what, std::string_view value, std::span<const std::string> choices) {
  for (const std::string& choice : choices)
    if (choice == value) return {};
  return Error(ErrorCode::invalid_argument, fmt::format("{}: no such value '{}'.{} Known: {}.", what, value,
                                                        did_you_mean(value, choices), fmt::join(choices, ", ")));
}

}  // namespace penstock::cli
