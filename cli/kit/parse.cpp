// Words of the command line into the values that a Usage declares.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/kit/usage.hpp"
#include "core/suggest.hpp"

namespace penstock::cli {
namespace {

Error mistake(std::string message) {
  return Error(ErrorCode::invalid_argument, std::move(message)).set_hint("see --help");
}

/// --depth_um is --depth-um
std::string hyphenated(std::string name) {
  std::ranges::replace(name, '_', '-');
  return name;
}

class Parser {
 public:
  Parser(const Usage& usage, std::span<const std::string> words) : usage_(usage), words_(words) {}

  Status parse() {
    bool only_arguments = false;  // after "--"
    while (at_ < words_.size()) {
      const std::string& word = words_[at_++];
      if (!only_arguments && word == "--")
        only_arguments = true;
      else if (only_arguments || word.size() < 2 || word[0] != '-')
        PENSTOCK_TRY(argument(word));
      else if (word[1] == '-')
        PENSTOCK_TRY(long_option(word));
      else
        PENSTOCK_TRY(letters(word));
    }
    if (next_ < usage_.arguments().size()) {
      const Argument& missing = usage_.arguments()[next_];
      if (missing.required() && !(missing.takes_many() && filled_)) return mistake(missing.name + " is missing");
    }
    return {};
  }

 private:
  Status argument(const std::string& word) {
    if (next_ == usage_.arguments().size()) return mistake(fmt::format("'{}' is one argument too many", word));
    const Argument& a = usage_.arguments()[next_];
    if (word.empty()) return mistake(a.name + " is empty");
    if (!a.choices.empty()) PENSTOCK_TRY(check_choice(a.name, word, a.choices));
    if (auto* const* many = std::get_if<std::vector<std::string>*>(&a.into)) {
      (*many)->push_back(word);
      filled_ = true;
      return {};
    }
    ++next_;
    if (auto* const* one = std::get_if<std::string*>(&a.into))
      **one = word;
    else
      *std::get<std::optional<std::string>*>(a.into) = word;
    return {};
  }

  /// "--name", "--name VALUE" or "--name=VALUE"
  Status long_option(const std::string& word) {
    const std::size_t equals = word.find('=');
    const std::string name = hyphenated(word.substr(0, equals));
    const auto& options = usage_.options();
    const auto option = std::ranges::find(options, name, &Option::name);
    if (option == options.end()) return unknown(word.substr(0, equals));
    if (equals == std::string::npos) return set(*option, name, std::nullopt);
    if (option->value.empty()) return mistake(name + " takes no value");
    return set(*option, name, word.substr(equals + 1));
  }

  /// "-f", "-fj" (two flags), "-r VALUE", "-rVALUE"
  Status letters(const std::string& word) {
    for (std::size_t i = 1; i < word.size(); ++i) {
      const auto& options = usage_.options();
      const auto option = std::ranges::find(options, word[i], &Option::letter);
      const std::string name = fmt::format("-{}", word[i]);
      if (option == options.end()) return unknown(i == 1 ? word : name);
      if (!option->value.empty() && i + 1 < word.size()) return set(*option, name, word.substr(i + 1));
      PENSTOCK_TRY(set(*option, name, std::nullopt));
      if (!option->value.empty()) break;
    }
    return {};
  }

  Error unknown(const std::string& name) const {
    std::vector<std::string> known = {"--help"};
    for (const Option& o : usage_.options()) {
      known.push_back(o.name);
      const bool writes_it = o.name == "--format" && std::ranges::find(o.choices, "json") != o.choices.end();
      if (name == "--json" && writes_it) return mistake("no option '--json'.").set_hint("--format json writes JSON.");
    }
    return mistake(fmt::format("no option '{}'.{}", name, did_you_mean(name, known)));
  }

  /// `joined`: a value in the same word; otherwise it is the next one.
  Status set(const Option& option, const std::string& name, const std::optional<std::string>& joined) {
    if (bool* const* flag = std::get_if<bool*>(&option.into)) {
      **flag = true;
      return {};
    }
    if (!joined && (at_ == words_.size() || is_option(words_[at_])))
      return mistake(fmt::format("{} needs a value: {} {}", name, name, option.value));
    const std::string& value = joined ? *joined : words_[at_++];
    if (value.empty()) return mistake(fmt::format("{} is empty: {} {}", name, name, option.value));
    if (!option.choices.empty()) PENSTOCK_TRY(check_choice(option.name, value, option.choices));
    if (auto* const* many = std::get_if<std::vector<std::string>*>(&option.into)) {
      (*many)->push_back(value);
      return {};
    }
    auto& one = *std::get<std::optional<std::string>*>(option.into);
    if (one) return mistake(fmt::format("{} is given twice", option.name));
    one = value;
    return {};
  }

  /// Whether a word is an option of this command.  "-1,3" and "-" are not: a value may look like that.
  [[nodiscard]] bool is_option(const std::string& word) const {
    if (word == "--") return true;
    const std::string name = hyphenated(word.substr(0, word.find('=')));
    return std::ranges::any_of(usage_.options(), [&](const Option& o) {
      return name == o.name || (o.letter != 0 && word.size() == 2 && word[0] == '-' && word[1] == o.letter);
    });
  }

  const Usage& usage_;
  std::span<const std::string> words_;
  std::size_t at_ = 0;    ///< the next word
  std::size_t next_ = 0;  ///< the argument that the next word without a dash is
  bool filled_ = false;   ///< an argument that takes many has one
};

}  // namespace

Status Usage::parse(std::span<const std::string> words) const { return Parser(*this, words).parse(); }

Status check_choice(std::string_view what, std::string_view value, std::span<const std::string> choices) {
  for (const std::string& choice : choices)
    if (choice == value) return {};
  return Error(ErrorCode::invalid_argument, fmt::format("{}: no such value '{}'.{} Known: {}.", what, value,
                                                        did_you_mean(value, choices), fmt::join(choices, ", ")));
}

}  // namespace penstock::cli
