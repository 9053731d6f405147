#include "ops/arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/json.hpp"
#include "core/suggest.hpp"

namespace penstock {
namespace {

Error bad(std::string_view name, std::string_view what) {
  return {ErrorCode::invalid_argument, fmt::format("{} {}", name, what)};
}

Error not_a(std::string_view name, const Json& value, std::string_view kind) {
  return bad(name, fmt::format("must be {}, not {}", kind, dump_json(value)));
}

std::optional<double> to_number(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  const auto text = value.get<std::string>();  // of a command line
  constexpr double infinite = std::numeric_limits<double>::infinity();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return infinite;
  if (text == "-inf") return -infinite;
  return std::nullopt;
}

std::optional<std::int64_t> to_integer(const Json& value) {
  if (value.is_number_integer()) {
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
    return value.get<std::int64_t>();
  }
  if (!value.is_number()) return std::nullopt;
  const auto v = value.get<double>();
  if (v != std::floor(v) || std::abs(v) > 9007199254740992.0) return std::nullopt;
  return static_cast<std::int64_t>(v);
}

/// The values of a list, or `count` times the only one.
Result<std::vector<const Json*>> spread(std::string_view name, const Json& value, std::size_t count) {
  if (!value.is_array()) return std::vector<const Json*>(count, &value);
  if (value.size() != count)
    return bad(name, fmt::format("has {} values for {} {}", value.size(), count, count == 1 ? "axis" : "axes"));
  std::vector<const Json*> values;
  for (const Json& v : value) values.push_back(&v);
  return values;
}

}  // namespace

const Json* Arguments::find(std::string_view name) {
  asked_.emplace(name);
  const auto it = values_.find(std::string(name));
  return it == values_.end() || it->is_null() ? nullptr : &*it;
}

bool Arguments::given(std::string_view name) const {
  const auto it = values_.find(std::string(name));
  return it != values_.end() && !it->is_null();
}

Result<double> Arguments::any_number(std::string_view name, double otherwise) {
  const Json* value = find(name);
  if (value == nullptr) return otherwise;
  const auto number = to_number(*value);
  if (!number) return not_a(name, *value, "a number");
  return *number;
}

Result<double> Arguments::number(std::string_view name, std::optional<double> otherwise) {
  PENSTOCK_ASSIGN(const std::vector<double> one, number_each(name, 1, otherwise));
  return one[0];
}

Result<std::int64_t> Arguments::integer(std::string_view name, std::optional<std::int64_t> otherwise) {
  PENSTOCK_ASSIGN(const std::vector<std::int64_t> one, integer_each(name, 1, otherwise));
  return one[0];
}

Result<bool> Arguments::flag(std::string_view name, bool otherwise) {
  const Json* value = find(name);
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) return not_a(name, *value, "true or false");
  return value->get<bool>();
}

Result<std::string> Arguments::text(std::string_view name, std::string_view otherwise) {
  const Json* value = find(name);
  if (value == nullptr) return std::string(otherwise);
  if (!value->is_string()) return not_a(name, *value, "a word");
  return value->get<std::string>();
}

Result<DType> Arguments::dtype(std::string_view name, const DType& otherwise) {
  if (!given(name)) {
    asked_.emplace(name);
    return otherwise;
  }
  PENSTOCK_ASSIGN(const std::string word, text(name, ""));
  PENSTOCK_ASSIGN_IN(DType type, parse_dtype_name(word), name);
  return type;
}

Result<std::vector<double>> Arguments::numbers(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr) return bad(name, "is not given");
  return number_each(name, value->is_array() ? value->size() : 1, std::nullopt);
}

Result<std::vector<std::size_t>> Arguments::axes() {
  std::vector<std::size_t> axes;
  const Json* value = find("axes");
  if (value == nullptr) {
    for (std::size_t d = 0; d < rank_; ++d) axes.push_back(d);
    return axes;
  }
  PENSTOCK_ASSIGN(const auto numbers, integer_each("axes", value->is_array() ? value->size() : 1, std::nullopt));
  const auto rank = static_cast<std::int64_t>(rank_);
  for (const std::int64_t number : numbers) {
    if (number < -rank || number >= rank)
      return bad("axes", fmt::format("has axis {}, the array has {} dimensions", number, rank_));
    const auto axis = static_cast<std::size_t>(number < 0 ? number + rank : number);
    if (std::ranges::find(axes, axis) != axes.end()) return bad("axes", fmt::format("has axis {} twice", axis));
    axes.push_back(axis);
  }
  return axes;
}

Result<std::vector<double>> Arguments::number_each(std::string_view name, std::size_t count,
                                                   std::optional<double> otherwise) {
  const Json* value = find(name);
  if (value == nullptr) {
    if (!otherwise) return bad(name, "is not given");
    return std::vector<double>(count, *otherwise);
  }
  PENSTOCK_ASSIGN(const auto values, spread(name, *value, count));
  std::vector<double> numbers;
  for (const Json* v : values) {
    const auto number = to_number(*v);
    if (!number) return not_a(name, *v, "a number");
    if (!std::isfinite(*number)) return not_a(name, *v, "a finite number");
    numbers.push_back(*number);
  }
  return numbers;
}

Result<std::vector<std::int64_t>> Arguments::integer_each(std::string_view name, std::size_t count,
                                                          std::optional<std::int64_t> otherwise) {
  const Json* value = find(name);
  if (value == nullptr) {
    if (!otherwise) return bad(name, "is not given");
    return std::vector<std::int64_t>(count, *otherwise);
  }
  PENSTOCK_ASSIGN(const auto values, spread(name, *value, count));
  std::vector<std::int64_t> numbers;
  for (const Json* v : values) {
    const auto number = to_integer(*v);
    if (!number) return not_a(name, *v, "a whole number");
    numbers.push_back(*number);
  }
  return numbers;
}

Result<std::vector<std::string>> Arguments::text_each(std::string_view name, std::size_t count,
                                                      std::string_view otherwise) {
  const Json* value = find(name);
  if (value == nullptr) return std::vector<std::string>(count, std::string(otherwise));
  PENSTOCK_ASSIGN(const auto values, spread(name, *value, count));
  std::vector<std::string> words;
  for (const Json* v : values) {
    if (!v->is_string()) return not_a(name, *v, "a word");
    words.push_back(v->get<std::string>());
  }
  return words;
}

Status Arguments::all_used() const { return all_among(asked_); }

Status Arguments::all_known(std::string_view listed) const {
  auto names = asked_;
  names.insert({"output", "precision"});  // of all filters
  for (std::size_t at = 0; at < listed.size();) {
    const std::size_t end = std::min(listed.find_first_of(" ,=", at), listed.size());
    if (end > at) names.emplace(listed.substr(at, end - at));
    const std::size_t next = listed.substr(end).starts_with(" or ") ? end + 3 : listed.find(", ", end);
    at = next == std::string_view::npos ? listed.size() : listed.find_first_not_of(", ", next);
  }
  return all_among(names);
}

Status Arguments::all_among(const std::set<std::string, std::less<>>& names) const {
  const std::vector<std::string> known(names.begin(), names.end());
  for (const auto& [name, value] : values_.items())
    if (!names.contains(name))
      return Error(ErrorCode::invalid_argument, fmt::format("no argument '{}'.{}", name, did_you_mean(name, known)))
          .set_hint(fmt::format("Arguments are {}.", fmt::join(known, ", ")));
  return {};
}

}  // namespace penstock
