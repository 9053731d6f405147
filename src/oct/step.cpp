#include "oct/step.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/suggest.hpp"
#include "core/units.hpp"

namespace penstock::oct {
namespace {

Error mistake(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

Result<double> read_number(const std::string& name, const std::string& text) {
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return mistake(fmt::format("{} {}: must be a number", name, text));
  return value;
}

Result<std::variant<bool, double, std::uint64_t, std::string>> read_value(const OctOption& option,
                                                                          const std::string& text) {
  using Value = std::variant<bool, double, std::uint64_t, std::string>;
  switch (option.kind) {
    case OctOption::Kind::number: {
      PENSTOCK_ASSIGN(const double value, read_number(option.name, text));
      return Value(value);
    }
    case OctOption::Kind::count: {
      PENSTOCK_ASSIGN_IN(const std::uint64_t value, parse_count(text), option.name);
      return Value(value);
    }
    case OctOption::Kind::flag:
      if (text != "true" && text != "false")
        return mistake(fmt::format("{} {}: must be true or false", option.name, text));
      return Value(text == "true");
    default: break;
  }
  if (text.empty()) return mistake(fmt::format("{} is empty", option.name));
  if (!option.choices.empty() && std::ranges::find(option.choices, text) == option.choices.end())
    return mistake(fmt::format("{}: no such value '{}'.{} Known: {}.", option.name, text,
                               did_you_mean(text, option.choices), fmt::join(option.choices, ", ")));
  return Value(text);
}

}  // namespace

Result<StepCall> StepCall::make(const OctStep& step, const OctCall& call, const Options& options) {
  StepCall made;
  if (call.paths.size() != step.arguments.size())
    return mistake(
        fmt::format("oct {} takes {} paths, {} are given", step.name, step.arguments.size(), call.paths.size()));
  for (std::size_t i = 0; i < call.paths.size(); ++i) {
    std::string path = call.paths[i];
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    if (path.empty()) return mistake(step.arguments[i].name + " is empty");
    made.paths_.push_back(std::move(path));
  }
  std::vector<std::string> known;
  for (const OctOption& option : step.options) {
    known.push_back(option.name);
    const auto given = call.options.find(option.name);
    if (given == call.options.end() && option.required)
      return mistake(fmt::format("oct {}: {} is needed: {}", step.name, option.name, option.help));
    const std::string& text = given == call.options.end() ? option.fallback : given->second;
    if (given == call.options.end() && text.empty()) continue;
    PENSTOCK_ASSIGN(auto value, read_value(option, text));
    if (const bool* flag = std::get_if<bool>(&value); flag != nullptr && !*flag) continue;
    made.values_.emplace(option.name, std::move(value));
  }
  for (const auto& [name, text] : call.options)
    if (std::ranges::find(known, name) == known.end())
      return mistake(fmt::format("oct {} has no option '{}'.{}", step.name, name, did_you_mean(name, known)));
  made.device = call.device;
  made.force = call.force;
  made.options = options;
  return made;
}

template <class T>
const T& StepCall::value(std::string_view name) const {
  const auto it = values_.find(name);
  if (it == values_.end()) throw NoSuchOption{std::string(name)};
  if (const T* const value = std::get_if<T>(&it->second)) return *value;
  throw NoSuchOption{std::string(name)};
}

double StepCall::number(std::string_view name) const { return value<double>(name); }
std::uint64_t StepCall::count(std::string_view name) const { return value<std::uint64_t>(name); }
const std::string& StepCall::text(std::string_view name) const { return value<std::string>(name); }

}  // namespace penstock::oct
