// Names that are not quite right.
#pragma once
#include <cstddef>
#include <string_view>

namespace penstock {

/// Number of single-letter edits from a to b.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace penstock
