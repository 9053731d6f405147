// Codecs that other programs write and penstock does not have, with the reason and what to do instead.
#pragma once
#include <optional>
#include <string_view>

#include "penstock/error.hpp"

namespace penstock {

/// Why there is no such codec; nullopt: the name says nothing to penstock.  `name`: v2 id or v3 name.
std::optional<Error> refused_codec(std::string_view name);

}  // namespace penstock
