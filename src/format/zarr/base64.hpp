// Base64 (RFC 4648, section 4), as zarr metadata writes bytes.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/bytes.hpp"

namespace penstock {

std::string to_base64(ByteView bytes);
/// nullopt: not base64 (a character outside the alphabet, wrong padding, wrong length).
std::optional<std::vector<std::byte>> from_base64(std::string_view text);

}  // namespace penstock
