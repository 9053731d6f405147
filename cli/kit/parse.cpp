// The only file that sees the command line library.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/kit/suggest.hpp"
#include "cli/kit/usage.hpp"

namespace penstock::cli {
namespace {

Error usage_error(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

void declare(CLI::App& app, const Argument& a) {
  std::visit([&](auto* into) { app.add_option(a.name, *into); }, a.into);
  CLI::Option* option = app.get_option(a.name);
  if (a.required()) option->required();
}

void declare(CLI::App& app, const Option& o) {
  if (bool* const* flag = std::get_if<bool*>(&o.into)) {
    app.add_flag(o.name, **flag)->disable_flag_override();
  } else if (auto* const* one = std::get_if<std::optional<std::string>*>(&o.into)) {
    app.add_option(o.name, **one)->expected(1);
  } else {
    app.add_option(o.name, *std::get<std::vector<std::string>*>(o.into))->expected(1)->take_all();
  }
}

/// The first word that looks like an option and is none.
std::optional<std::string> unknown_option(const Usage& usage, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word.size() < 2 || word[0] != '-') continue;
    std::string name = word.substr(0, word.find('='));
    bool known = false;
    for (const Option& o : usage.options()) known = known || o.name == name;
    if (!known) return name;
  }
  return std::nullopt;
}

}  // namespace

Status Usage::parse(std::span<const std::string> words) const {
  CLI::App app;
  app.set_help_flag();
  for (const Argument& a : arguments_) declare(app, a);
  for (const Option& o : options_) declare(app, o);
  std::vector<std::string> reversed(words.rbegin(), words.rend());  // the library takes them from the back
  try {
    app.parse(reversed);
  } catch (const CLI::ExtrasError&) {
    const std::vector<std::string> left = app.remaining();
    if (const auto name = unknown_option(*this, left)) {
      std::vector<std::string> known;
      for (const Option& o : options_) known.push_back(o.name);
      return usage_error(fmt::format("no option '{}'.{}", *name, did_you_mean(*name, known))).set_hint("see --help");
    }
    return usage_error(fmt::format("'{}' is one argument too many", left.empty() ? "" : left.front()))
        .set_hint("see --help");
  } catch (const CLI::RequiredError& e) {
    return usage_error(fmt::format("{} is missing", std::string(e.what()).substr(0, std::string(e.what()).find(' '))))
        .set_hint("see --help");
  } catch (const CLI::Error& e) {
    return usage_error(e.what()).set_hint("see --help");
  }
  for (const Option& o : options_) {
    if (o.choices.empty()) continue;
    if (auto* const* one = std::get_if<std::optional<std::string>*>(&o.into); one && **one)
      PENSTOCK_TRY(check_choice(o.name, ***one, o.choices));
  }
  for (const Argument& a : arguments_) {
    if (a.choices.empty()) continue;
    if (auto* const* one = std::get_if<std::string*>(&a.into)) PENSTOCK_TRY(check_choice(a.name, **one, a.choices));
    if (auto* const* one = std::get_if<std::optional<std::string>*>(&a.into); one && **one)
      PENSTOCK_TRY(check_choice(a.name, ***one, a.choices));
  }
  return {};
}

}  // namespace penstock::cli
