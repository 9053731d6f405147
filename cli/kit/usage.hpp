// What a command takes: declared once as data; parsing, help, reference page and shell completion all come from it.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "penstock/error.hpp"

namespace penstock::cli {

/// What a value is, for shell completion.
enum class ValueKind : std::uint8_t { text, path, choice };

/// A positional argument.  One that takes many is the last.
struct Argument {
  std::string name;  ///< "STORE"
  std::string help;
  std::variant<std::string*, std::optional<std::string>*, std::vector<std::string>*> into;
  ValueKind kind = ValueKind::path;
  std::vector<std::string> choices;      ///< no other value is taken
  std::vector<std::string> suggestions;  ///< what completion offers besides
  bool at_least_one = false;             ///< of one that takes many
  [[nodiscard]] bool takes_many() const { return std::holds_alternative<std::vector<std::string>*>(into); }
  [[nodiscard]] bool required() const { return at_least_one || std::holds_alternative<std::string*>(into); }
};

/// "--name VALUE", or a flag without value.  A letter means the same in every command.
struct Option {
  std::string name;   ///< "--region"
  std::string value;  ///< "R"; empty: a flag
  std::string help;
  std::variant<bool*, std::optional<std::string>*, std::vector<std::string>*> into;
  ValueKind kind = ValueKind::text;
  std::vector<std::string> choices;      ///< no other value is taken
  std::vector<std::string> suggestions;  ///< what completion offers besides
  char letter = 0;                       ///< 'r' for -r, by the name; 0: none
};

struct Example {
  std::string line;
  std::string what;
};

/// The arguments of one command.  The memory that values go to belongs to the command.
class Usage {
 public:
  /// Paragraphs after the summary.
  void about(std::string text) { about_ = std::move(text); }
  Argument& argument(std::string name, std::string& into, std::string help);
  Argument& argument(std::string name, std::optional<std::string>& into, std::string help);
  Argument& argument(std::string name, std::vector<std::string>& into, std::string help);
  Option& flag(std::string name, bool& into, std::string help);
  Option& option(std::string name, std::string value, std::optional<std::string>& into, std::string help);
  /// May be given several times.
  Option& option(std::string name, std::string value, std::vector<std::string>& into, std::string help);
  void example(std::string line, std::string what) { examples_.push_back({std::move(line), std::move(what)}); }

  [[nodiscard]] const std::string& about() const { return about_; }
  [[nodiscard]] const std::vector<Argument>& arguments() const { return arguments_; }
  [[nodiscard]] const std::vector<Option>& options() const { return options_; }
  [[nodiscard]] const std::vector<Example>& examples() const { return examples_; }

  /// "penstock cat [options] STORE"
  [[nodiscard]] std::string line(std::string_view command) const;
  /// The page that --help prints.
  [[nodiscard]] std::string help(std::string_view command, std::string_view summary) const;
  /// The same as a section of docs/reference/commands.md.
  [[nodiscard]] std::string markdown(std::string_view command, std::string_view summary) const;
  /// Fills in the values.  Errors: invalid_argument (with the nearest option when one is not known).
  [[nodiscard]] Status parse(std::span<const std::string> words) const;

 private:
  template <class Into>
  Argument& add_argument(std::string name, Into& into, std::string help);
  template <class Into>
  Option& add_option(std::string name, std::string value, Into& into, std::string help);
  std::string about_;
  std::vector<Argument> arguments_;
  std::vector<Option> options_;
  std::vector<Example> examples_;
};

/// Checks a value against the choices of an option.  Errors: invalid_argument with the nearest one.
Status check_choice(std::string_view what, std::string_view value, std::span<const std::string> choices);

}  // namespace penstock::cli
