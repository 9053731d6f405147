#include "core/json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <unordered_set>

namespace penstock {
namespace {

constexpr int kMaxDepth = 64;

Error bad(std::string message) { return {ErrorCode::invalid_metadata, std::move(message)}; }

/// Builds a document like nlohmann's own, but refuses depth and repeated keys, and keeps the first error as text.
class StrictBuilder : public nlohmann::detail::json_sax_dom_parser<Json> {
  using Base = nlohmann::detail::json_sax_dom_parser<Json>;

 public:
  explicit StrictBuilder(Json& out) : Base(out, false) {}
  std::string problem;

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
  bool key(std::string& name) {
    if (!keys_.back().insert(name).second) {
      problem = fmt::format("the member \"{}\" is there twice in one object", name);
      return false;
    }
    return Base::key(name);
  }
  template <class E>
  bool parse_error(std::size_t position, const std::string& token, const E& error) {
    if (problem.empty()) problem = fmt::format("not JSON at byte {} (near '{}')", position, token.substr(0, 20));
    (void)error;
    return false;
  }

 private:
  bool deeper() {
    if (++depth_ <= kMaxDepth) return true;
    problem = fmt::format("JSON nested deeper than {} levels", kMaxDepth);
    return false;
  }
  int depth_ = 0;
  std::vector<std::unordered_set<std::string>> keys_;
};

/// Python's json module writes NaN, Infinity and -Infinity as bare words; standard JSON has no such thing.  Outside
/// strings they are replaced by the strings that zarr v3 uses for them, so that nothing is lost.
std::string quote_bare_words(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 16);
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      out += c;
      if (c == '\\' && i + 1 < text.size())
        out += text[++i];
      else if (c == '"')
        in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    bool replaced = false;
    for (const std::string_view word :
         {std::string_view("-Infinity"), std::string_view("Infinity"), std::string_view("NaN")}) {
      if (text.substr(i, word.size()) != word) continue;
      out.append("\"").append(word).append("\"");
      i += word.size() - 1;
      replaced = true;
      break;
    }
    if (!replaced) out += c;
  }
  return out;
}

}  // namespace

Result<Json> parse_json(std::string_view text) {
  Json out;
  StrictBuilder builder(out);
  std::string quoted;
  if (text.find("NaN") != std::string_view::npos || text.find("Infinity") != std::string_view::npos) {
    quoted = quote_bare_words(text);
    text = quoted;
  }
  if (!Json::sax_parse(text.begin(), text.end(), &builder))
    return bad(builder.problem.empty() ? "not JSON" : builder.problem);
  return out;
}

std::string dump_json(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
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
    return bad(fmt::format("\"{}\" must be a whole number from {} to {}, is {}", key, low, high,
                           dump_json(*value).substr(0, 40)));
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
