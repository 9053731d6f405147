// "Did you mean ...?"
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "penstock/api.hpp"

namespace penstock {

/// Least number of inserted, removed, changed or swapped letters that turns `a` into `b`.
PENSTOCK_API std::size_t edit_distance(std::string_view a, std::string_view b);
/// The nearest of `known` when it is near enough to be a slip of the hand.
PENSTOCK_API std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known);
/// " Did you mean X?", or nothing.
PENSTOCK_API std::string did_you_mean(std::string_view word, std::span<const std::string> known);

}  // namespace penstock
