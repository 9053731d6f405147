// Numbers from the words of options.
#pragma once
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "core/units.hpp"
#include "penstock/error.hpp"

namespace penstock::cli {

/// Leaves `into` as it is where the option was not given.  Errors: invalid_argument naming the option.
inline Status read_number(std::string_view option, const std::optional<std::string>& text, double& into) {
  if (!text) return {};
  const auto [end, code] = std::from_chars(text->data(), text->data() + text->size(), into);
  if (code != std::errc() || end != text->data() + text->size() || !std::isfinite(into))
    return Error(ErrorCode::invalid_argument, fmt::format("{} {}: must be a number", option, *text));
  return {};
}

template <class Whole>
Status read_count(std::string_view option, const std::optional<std::string>& text, Whole& into) {
  if (!text) return {};
  PENSTOCK_ASSIGN_IN(const std::uint64_t value, parse_count(*text), option);
  if (value > std::numeric_limits<Whole>::max())
    return Error(ErrorCode::invalid_argument, fmt::format("{} {}: too large", option, *text));
  into = static_cast<Whole>(value);
  return {};
}

}  // namespace penstock::cli
