#include "cli/kit/completion_script.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace penstock::cli {
namespace {

/// A text inside single quotes of a POSIX shell.
std::string shell_quoted(std::string_view text) {
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

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

std::string option_words(const Usage& usage) {
  std::vector<std::string> names;
  for (const Option& o : usage.options()) names.push_back(o.name);
  names.emplace_back("--help");
  return joined(names);
}

template <class Declared>
std::vector<std::string> offered(const Declared& d) {
  return d.choices.empty() ? d.suggestions : d.choices;
}

/// What may stand where an argument is expected: its values, and the second words of commands.
std::vector<std::string> argument_words(const CompletionEntry& command, const std::vector<CompletionEntry>& all) {
  std::vector<std::string> words;
  for (const Argument& a : command.usage.arguments())
    for (const std::string& word : offered(a))
      if (word.find(' ') == std::string::npos) words.push_back(word);
  for (const CompletionEntry& other : all)
    if (other.name.starts_with(command.name + " ")) words.push_back(other.name.substr(command.name.size() + 1));
  return words;
}

bool takes_path(const Usage& usage) {
  for (const Argument& a : usage.arguments())
    if (a.kind == ValueKind::path) return true;
  return false;
}

/// Commands of one word; "bench codecs" is found behind "bench".
std::vector<std::string> first_words(const std::vector<CompletionEntry>& commands) {
  std::vector<std::string> names;
  for (const CompletionEntry& c : commands)
    if (c.name.find(' ') == std::string::npos) names.push_back(c.name);
  return names;
}

}  // namespace

std::string bash_completion(const std::vector<CompletionEntry>& commands) {
  std::string two_words, options, values, words;
  for (const CompletionEntry& c : commands) {
    if (c.name.find(' ') != std::string::npos) two_words += (two_words.empty() ? "" : "|") + shell_quoted(c.name);
    options += fmt::format("    {}) options={} ;;\n", shell_quoted(c.name), shell_quoted(option_words(c.usage)));
    if (const auto list = argument_words(c, commands); !list.empty())
      words += fmt::format("    {}) words={} ;;\n", shell_quoted(c.name), shell_quoted(joined(list)));
    for (const Option& o : c.usage.options()) {
      if (offered(o).empty()) continue;
      std::string names = shell_quoted(c.name + " " + o.name);
      if (o.letter != 0) names += "|" + shell_quoted(fmt::format("{} -{}", c.name, o.letter));
      values += fmt::format("    {}) words={} ;;\n", names, shell_quoted(joined(offered(o))));
    }
  }
  return fmt::format(
      R"(# bash completion of penstock; made by `penstock completion bash`
_penstock() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}}
  local options='' words='' IFS=$' \t\n'
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W {} -- "$current"))
    return
  fi
  if [ "$COMP_CWORD" -gt 2 ]; then
    case "$command ${{COMP_WORDS[2]}}" in
    {}) command="$command ${{COMP_WORDS[2]}}" ;;
    esac
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
    return
  fi
  [ -z "$words" ] || COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [ ${{#COMPREPLY[@]}} -eq 0 ]; then
    IFS=$'\n'
    COMPREPLY=($(penstock --complete "$current" 2>/dev/null))
    if [ ${{#COMPREPLY[@]}} -gt 0 ]; then
      [[ ${{COMPREPLY[0]}} != */ ]] || compopt -o nospace 2>/dev/null
    else
      compopt -o filenames 2>/dev/null
      COMPREPLY=($(compgen -f -- "$current"))
    fi
  fi
}}
complete -F _penstock penstock
)",
      shell_quoted(joined(first_words(commands))), two_words.empty() ? "''" : two_words,
      values.empty() ? "    '') ;;\n" : values, options, words.empty() ? "    '') ;;\n" : words);
}

std::string zsh_completion(const std::vector<CompletionEntry>& commands) {
  std::string list, two_words, cases;
  for (const CompletionEntry& c : commands) {
    if (c.name.find(' ') == std::string::npos)
      list += fmt::format("    {}\n", shell_quoted(zsh_text(c.name) + ":" + c.summary));
    else
      two_words += (two_words.empty() ? "" : "|") + shell_quoted(c.name);
    cases += fmt::format("    {}) _arguments", shell_quoted(c.name));
    for (const Option& o : c.usage.options()) {
      std::string rest = fmt::format("[{}]", zsh_text(o.help));
      if (!o.value.empty()) rest += ":" + zsh_text(o.value) + ":";
      if (!offered(o).empty()) rest += fmt::format("({})", joined(offered(o)));
      if (o.kind == ValueKind::path) rest += "_files";
      cases += " \\\n      " + shell_quoted(o.name + rest);
      if (o.letter != 0) cases += " \\\n      " + shell_quoted(fmt::format("-{}{}", o.letter, rest));
    }
    const auto words = argument_words(c, commands);
    for (const Argument& a : c.usage.arguments()) {
      const bool path = a.kind == ValueKind::path && (words.empty() || a.takes_many());
      const std::string action = path ? "_penstock_paths" : fmt::format("({})", joined(words));
      const std::string_view which = a.takes_many() ? "*:" : a.required() ? ":" : "::";
      cases += " \\\n      " + shell_quoted(fmt::format("{}{}:{}", which, zsh_text(a.name), action));
    }
    cases += " ;;\n";
  }
  return fmt::format(
      R"(#compdef penstock
# zsh completion of penstock; made by `penstock completion zsh`
_penstock_paths() {{
  local -a found
  found=("${{(@f)$(penstock --complete "$PREFIX" 2>/dev/null)}}")
  if [[ -n $found ]]; then compadd -S '' -- $found; else _files; fi
}}
_penstock() {{
  local -a list
  list=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command list
    return
  fi
  local command=$words[2]
  if (( CURRENT > 3 )); then
    case "$command $words[3]" in
    {}) command="$command $words[3]"; words=("${{(@)words[2,-1]}}"); (( CURRENT-- )) ;;
    esac
  fi
  words=("${{(@)words[2,-1]}}")
  (( CURRENT-- ))
  case $command in
{}  esac
}}
if [ "$funcstack[1]" = "_penstock" ]; then _penstock "$@"; else compdef _penstock penstock; fi
)",
      list, two_words.empty() ? "''" : two_words, cases);
}

std::string fish_completion(const std::vector<CompletionEntry>& commands) {
  std::string out = "# fish completion of penstock; made by `penstock completion fish`\n";
  for (const CompletionEntry& c : commands)
    if (c.name.find(' ') == std::string::npos)
      out += fmt::format("complete -c penstock -n __fish_use_subcommand -f -a {} -d {}\n", fish_quoted(c.name),
                         fish_quoted(c.summary));
  for (const CompletionEntry& c : commands) {
    std::string seen;
    for (std::size_t at = 0; at <= c.name.size();) {
      const std::size_t end = std::min(c.name.find(' ', at), c.name.size());
      seen += (seen.empty() ? "" : "; and ") + ("__fish_seen_subcommand_from " + c.name.substr(at, end - at));
      at = end + 1;
    }
    const std::string when = fish_quoted(seen);
    for (const Option& o : c.usage.options()) {
      out += fmt::format("complete -c penstock -n {} -l {} -d {}", when, o.name.substr(2), fish_quoted(o.help));
      if (o.letter != 0) out += fmt::format(" -s {}", o.letter);
      if (!offered(o).empty())
        out += fmt::format(" -x -a {}", fish_quoted(joined(offered(o))));
      else if (!o.value.empty())
        out += o.kind == ValueKind::path ? " -r" : " -x";
      out += "\n";
    }
    if (const auto words = argument_words(c, commands); !words.empty())
      out += fmt::format("complete -c penstock -n {} -f -a {}\n", when, fish_quoted(joined(words)));
    if (takes_path(c.usage))
      out += fmt::format("complete -c penstock -n {} -a {}\n", when,
                         fish_quoted("(penstock --complete (commandline -ct) 2>/dev/null)"));
  }
  return out;
}

}  // namespace penstock::cli
