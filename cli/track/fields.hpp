// Options that set fields of a struct: numbers, names, files.
#pragma once
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>

#include "cli/kit/command.hpp"
#include "core/units.hpp"
#include "penstock/error.hpp"

namespace penstock::cli {

/// A number that is not whole.  Errors: invalid_argument naming the option.
inline Status read_word(const std::string& option, const std::string& text, double& into) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), into);
  if (code != std::errc() || end != text.data() + text.size() || !std::isfinite(into))
    return Error(ErrorCode::invalid_argument, fmt::format("{} {}: must be a number", option, text));
  return {};
}
template <class Whole>
  requires std::is_unsigned_v<Whole>
Status read_word(const std::string& option, const std::string& text, Whole& into) {
  PENSTOCK_ASSIGN_IN(const std::uint64_t value, parse_count(text), option);
  if (value > std::numeric_limits<Whole>::max())
    return Error(ErrorCode::invalid_argument, fmt::format("{} {}: too large", option, text));
  into = static_cast<Whole>(value);
  return {};
}
inline Status read_word(const std::string&, const std::string& text, std::string& into) {
  into = text;
  return {};
}
template <class T>
Status read_word(const std::string& option, const std::string& text, std::optional<T>& into) {
  return read_word(option, text, into.emplace());
}

/// Declares options and puts what is given where it belongs.
class FieldOptions {
 public:
  /// `into`: a number, text, or an optional one; unchanged where the option is not given.  It must outlive this.
  template <class T>
  Option& add(Usage& usage, const char* name, const char* value, T& into, const char* help) {
    return add_read(usage, name, value, help, [&into](const std::string& option, const std::string& text) {
      return read_word(option, text, into);
    });
  }
  /// A file.
  void add_path(Usage& usage, const char* name, const char* value, std::string& into, const char* help) {
    add(usage, name, value, into, help).kind = ValueKind::path;
  }
  /// One of `choices`, which `parse` turns into a value.
  template <class T, class Parse>
  void add_choice(Usage& usage, const char* name, const char* value, T& into, std::vector<std::string> choices,
                  const Parse& parse, const char* help) {
    Option& option =
        add_read(usage, name, value, help, [&into, parse](const std::string& named, const std::string& text) -> Status {
          PENSTOCK_ASSIGN_IN(into, parse(text), named);
          return {};
        });
    option.kind = ValueKind::choice;
    option.choices = std::move(choices);
  }
  /// Errors: invalid_argument naming the option.
  Status read() const {
    for (const Entry& entry : entries_)
      if (entry.text) PENSTOCK_TRY(entry.read(entry.name, *entry.text));
    return {};
  }

 private:
  using Read = std::function<Status(const std::string&, const std::string&)>;
  struct Entry {
    std::string name;
    std::optional<std::string> text;
    Read read;
  };
  Option& add_read(Usage& usage, const char* name, const char* value, const char* help, Read read) {
    entries_.push_back({name, {}, std::move(read)});
    return usage.option(name, value, entries_.back().text, help);
  }
  std::deque<Entry> entries_;  // their addresses stay
};

}  // namespace penstock::cli
