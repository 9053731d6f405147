#include "core/json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

namespace penstock {
namespace {

constexpr int kMaxDepth = 64;

Error bad(std::string message) { return {ErrorCode::invalid_metadata, std::move(message)}; }

/// Python's json module writes NaN, Infinity and -Infinity as bare words; standard JSON has no such thing.
struct Word {
  std::string_view text;
  double value;
};
constexpr Word kWords[] = {{"NaN", std::numeric_limits<double>::quiet_NaN()},
                           {"Infinity", std::numeric_limits<double>::infinity()},
                           {"-Infinity", -std::numeric_limits<double>::infinity()}};

/// What is no ASCII as \xNN: of a text that is not UTF-8 nothing else can be shown.
std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80)
      out += c;
    else
      out += fmt::format("\\x{:02x}", byte);
  }
  return out;
}

/// A text whose bare words have become strings of the same length, so that every byte keeps its place.
struct QuotedWords {
  struct Place {
    std::size_t string_number;  ///< the how-manieth string of the text it is, from 0
    double value;
  };
  std::string text;
  std::vector<Place> places;
};

QuotedWords quote_bare_words(std::string_view text) {
  QuotedWords out{std::string(text), {}};
  std::size_t strings = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '"') {
      ++strings;
      for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\' ? 1 : 0;
      ++i;
      continue;
    }
    std::size_t step = 1;
    for (const Word& word : kWords) {
      if (text.substr(i, word.text.size()) != word.text) continue;
      step = word.text.size();
      out.text.replace(i, step, '"' + std::string(step - 2, ' ') + '"');
      out.places.push_back({strings++, word.value});
    }
    i += step;
  }
  return out;
}

/// Builds a document like nlohmann's own, but refuses depth and repeated keys, takes the strings that stand for bare
/// words as the numbers they are, and keeps the first error as text.
class StrictBuilder : public nlohmann::detail::json_sax_dom_parser<Json> {
  using Base = nlohmann::detail::json_sax_dom_parser<Json>;

 public:
  StrictBuilder(Json& out, std::span<const QuotedWords::Place> words) : Base(out, false), words_(words) {}
  std::string problem;

  // sax_parse calls the members of the type that it is given: nothing here is virtual.
  // NOLINTBEGIN(bugprone-derived-method-shadowing-base-method)
  bool start_object(std::size_t n) {
    keys_.emplace_back();
    return deeper() && Base::start_object(n);
  }
  bool end_object() {
    keys_.pop_back();
    --depth_;
    return Base::end_object();
  }
  bool start_array(std::size_t n) { return deeper() && Base::start_array(n); }
  bool end_array() {
    --depth_;
    return Base::end_array();
  }
  bool string(std::string& value) {
    const auto number = take_word();
    return number ? Base::number_float(*number, {}) : Base::string(value);
  }
  bool key(std::string& name) {
    if (take_word()) {
      problem = "not JSON: a bare word as the name of a member";
      return false;
    }
    if (!keys_.back().insert(name).second) {
      problem = fmt::format("the member \"{}\" is there twice in one object", name);
      return false;
    }
    return Base::key(name);
  }
  // NOLINTEND(bugprone-derived-method-shadowing-base-method)
  template <class E>
  bool parse_error(std::size_t position, const std::string& token, const E& error) {
    if (problem.empty())
      problem = fmt::format("not JSON at byte {} (near '{}')", position, printable(token.substr(0, 20)));
    (void)error;
    return false;
  }

 private:
  bool deeper() {
    if (++depth_ <= kMaxDepth) return true;
    problem = fmt::format("JSON nested deeper than {} levels", kMaxDepth);
    return false;
  }
  /// To be asked once for every string: the number that it stands for, if it does.
  std::optional<double> take_word() {
    if (words_.empty() || words_.front().string_number != strings_++) return std::nullopt;
    const double value = words_.front().value;
    words_ = words_.subspan(1);
    return value;
  }
  int depth_ = 0;
  std::size_t strings_ = 0;
  std::span<const QuotedWords::Place> words_;
  std::vector<std::unordered_set<std::string>> keys_;
};

/// nlohmann writes `null` for numbers that JSON has no word for; all else is left to it.
class Writer {
 public:
  Writer(std::string& out, int indent, NonFinite non_finite) : out_(out), indent_(indent), non_finite_(non_finite) {}

  void write(const Json& json, int level) {  // documents are at most kMaxDepth deep
    if (json.is_structured() && !json.empty())
      write_members(json, level);
    else if (json.is_number_float() && !std::isfinite(json.get<double>()))
      write_word(json.get<double>());
    else
      out_ += text(json);
  }

 private:
  void write_members(const Json& json, int level) {
    out_ += json.is_object() ? '{' : '[';
    bool first = true;
    for (const auto& [key, value] : json.items()) {
      if (!first) out_ += ',';
      first = false;
      new_line(level + 1);
      if (json.is_object()) out_ += text(Json(key)) + (indent_ < 0 ? ":" : ": ");
      write(value, level + 1);
    }
    new_line(level);
    out_ += json.is_object() ? '}' : ']';
  }
  void write_word(double value) {
    const std::string_view quote = non_finite_ == NonFinite::quoted ? "\"" : "";
    const Word& word = kWords[std::isnan(value) ? 0 : value > 0 ? 1 : 2];
    out_.append(quote).append(word.text).append(quote);
  }
  void new_line(int level) {
    if (indent_ >= 0) out_ += '\n' + std::string(static_cast<std::size_t>(indent_ * level), ' ');
  }
  static std::string text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

  std::string& out_;
  int indent_;
  NonFinite non_finite_;
};

}  // namespace

Result<Json> parse_json(std::string_view text) {
  if (text.starts_with("\x1f\x8b"))
    return bad("not JSON but packed by gzip")
        .set_hint("unpack it where it is stored, or have the server send it as it is");
  // nlohmann takes it for the end of the text, whatever follows.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos)
    return bad(fmt::format("not JSON: a zero byte at byte {}", zero));
  QuotedWords quoted;
  if (text.find("NaN") != std::string_view::npos || text.find("Infinity") != std::string_view::npos) {
    quoted = quote_bare_words(text);
    text = quoted.text;
  }
  Json out;
  StrictBuilder builder(out, quoted.places);
  if (!Json::sax_parse(text.begin(), text.end(), &builder))
    return bad(builder.problem.empty() ? "not JSON" : builder.problem);
  return out;
}

std::string dump_json(const Json& json, int indent, NonFinite non_finite) {
  std::string out;
  Writer(out, indent, non_finite).write(json, 0);
  return out;
}

Result<const Json*> member(const Json& object, std::string_view key) {
  if (!object.is_object()) return bad(fmt::format("a JSON object with the member \"{}\" is needed here", key));
  const auto it = object.find(std::string(key));
  if (it == object.end()) return bad(fmt::format("the member \"{}\" is missing", key));
  return &*it;
}

Result<std::string> string_member(const Json& object, std::string_view key) {
  PENSTOCK_ASSIGN(const Json* value, member(object, key));
  if (!value->is_string()) return bad(fmt::format("\"{}\" must be a string, is {}", key, value->type_name()));
  return value->get<std::string>();
}

Result<std::int64_t> int_member(const Json& object, std::string_view key, std::int64_t low, std::int64_t high) {
  PENSTOCK_ASSIGN(const Json* value, member(object, key));
  const auto wrong = [&] {
    const std::string range =
        low == high ? std::to_string(low) : fmt::format("a whole number from {} to {}", low, high);
    return bad(fmt::format("\"{}\" must be {}, is {}", key, range, dump_json(*value).substr(0, 40)));
  };
  if (value->is_number_unsigned() && value->get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX))
    return wrong();
  double number = 0;
  if (value->is_number_float()) {
    number = value->get<double>();
    if (std::trunc(number) != number || std::abs(number) > 0x1p53) return wrong();
  } else if (!value->is_number_integer()) {
    return wrong();
  }
  const std::int64_t whole = value->is_number_float() ? static_cast<std::int64_t>(number) : value->get<std::int64_t>();
  if (whole < low || whole > high) return wrong();
  return whole;
}

Result<std::uint64_t> to_u64(const Json& value, std::string_view what) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (number >= 0 && number <= 0x1p53 && std::trunc(number) == number) return static_cast<std::uint64_t>(number);
  }
  return bad(fmt::format("{} must be a whole number, 0 or more, is {}", what, dump_json(value).substr(0, 40)));
}

Status only_members(const Json& object, std::initializer_list<std::string_view> known) {
  if (!object.is_object()) return bad("a JSON object is needed here");
  for (const auto& [key, value] : object.items()) {
    bool found = false;
    for (const std::string_view name : known) found = found || name == key;
    if (!found) return bad(fmt::format("the member \"{}\" is not known", key));
  }
  return {};
}

}  // namespace penstock
