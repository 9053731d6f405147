// Whether a JSON value is a certain text.
#pragma once
#include <string_view>

#include "core/json.hpp"

namespace penstock {

/// As value == text, which nlohmann-json makes a JSON value for: that takes memory, and ends the process where there is
/// none.
inline bool is_text(const Json& value, std::string_view text) {
  const auto* const own = value.get_ptr<const Json::string_t*>();
  return own != nullptr && *own == text;
}

}  // namespace penstock
