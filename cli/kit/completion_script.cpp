#include "cli/kit/completion_script.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace penstock::cli {
namespace {

/// A text inside single quotes of a POSIX shell.
std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// fish knows two escapes inside single quotes.
std::string fish_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

/// Text of a zsh `_arguments` specification: brackets and colons are its syntax.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::vector<std::string> option_names(const Usage& usage) {
  std::vector<std::string> names;
  for (const Option& o : usage.options()) names.push_back(o.name);
  names.emplace_back("--help");
  return names;
}

std::vector<std::string> argument_choices(const Usage& usage) {
  std::vector<std::string> words;
  for (const Argument& a : usage.arguments()) words.insert(words.end(), a.choices.begin(), a.choices.end());
  return words;
}

}  // namespace

std::string bash_completion(const std::vector<CompletionEntry>& commands) {
  std::vector<std::string> names;
  std::string options, values, words;
  for (const CompletionEntry& c : commands) {
    names.push_back(c.name);
    options += fmt::format("    {}) options={} ;;\n", c.name,
                           quoted(fmt::format("{}", fmt::join(option_names(c.usage), " "))));
    if (const auto choices = argument_choices(c.usage); !choices.empty())
      words += fmt::format("    {}) words={} ;;\n", c.name, quoted(fmt::format("{}", fmt::join(choices, " "))));
    for (const Option& o : c.usage.options())
      if (!o.choices.empty())
        values += fmt::format("    '{} {}') words={} ;;\n", c.name, o.name,
                              quoted(fmt::format("{}", fmt::join(o.choices, " "))));
  }
  return fmt::format(
      R"(# bash completion of penstock; made by `penstock completion bash`
_penstock() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}}
  local options='' words=''
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W {} -- "$current"))
    return
  fi
  case "$command $previous" in
{}  esac
  if [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    return
  fi
  case "$command" in
{}  esac
  case "$command" in
{}  esac
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$current"))
  elif [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  else
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}}
complete -F _penstock penstock
)",
      quoted(fmt::format("{}", fmt::join(names, " "))), values.empty() ? "    '') ;;\n" : values, options,
      words.empty() ? "    '') ;;\n" : words);
}

std::string zsh_completion(const std::vector<CompletionEntry>& commands) {
  std::string list, cases;
  for (const CompletionEntry& c : commands) {
    list += fmt::format("    {}\n", quoted(zsh_text(c.name) + ":" + c.summary));
    cases += fmt::format("    {}) _arguments", c.name);
    for (const Option& o : c.usage.options()) {
      std::string spec = fmt::format("{}[{}]", o.name, zsh_text(o.help));
      if (!o.value.empty()) spec += ":" + zsh_text(o.value) + ":";
      if (!o.choices.empty()) spec += fmt::format("({})", fmt::join(o.choices, " "));
      if (o.kind == ValueKind::path) spec += "_files";
      cases += " \\\n      " + quoted(spec);
    }
    for (const Argument& a : c.usage.arguments()) {
      const std::string action = a.choices.empty() ? a.kind == ValueKind::path ? "_files" : ""
                                                   : fmt::format("({})", fmt::join(a.choices, " "));
      cases += " \\\n      " + quoted(fmt::format("{}:{}:{}", a.required() ? "" : ":", zsh_text(a.name), action));
    }
    cases += " ;;\n";
  }
  return fmt::format(
      R"(#compdef penstock
# zsh completion of penstock; made by `penstock completion zsh`
_penstock() {{
  local -a list
  list=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command list
    return
  fi
  local command=$words[2]
  words=("${{(@)words[2,-1]}}")
  (( CURRENT-- ))
  case $command in
{}  esac
}}
if [ "$funcstack[1]" = "_penstock" ]; then _penstock "$@"; else compdef _penstock penstock; fi
)",
      list, cases);
}

std::string fish_completion(const std::vector<CompletionEntry>& commands) {
  std::string out = "# fish completion of penstock; made by `penstock completion fish`\n";
  for (const CompletionEntry& c : commands)
    out += fmt::format("complete -c penstock -n __fish_use_subcommand -f -a {} -d {}\n", fish_quoted(c.name),
                       fish_quoted(c.summary));
  for (const CompletionEntry& c : commands) {
    const std::string when = fish_quoted("__fish_seen_subcommand_from " + c.name);
    for (const Option& o : c.usage.options()) {
      out += fmt::format("complete -c penstock -n {} -l {} -d {}", when, o.name.substr(2), fish_quoted(o.help));
      if (!o.choices.empty())
        out += fmt::format(" -x -a {}", fish_quoted(fmt::format("{}", fmt::join(o.choices, " "))));
      else if (!o.value.empty())
        out += o.kind == ValueKind::path ? " -r" : " -x";
      out += "\n";
    }
    if (const auto choices = argument_choices(c.usage); !choices.empty())
      out += fmt::format("complete -c penstock -n {} -f -a {}\n", when,
                         fish_quoted(fmt::format("{}", fmt::join(choices, " "))));
  }
  return out;
}

}  // namespace penstock::cli
