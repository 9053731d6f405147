// Text in UTF-8.
#pragma once
#include <cstddef>
#include <optional>

#include "penstock/bytes.hpp"

namespace penstock {

/// Position of the first byte that does not belong to well-formed UTF-8 (RFC 3629), nullopt when all do.
std::optional<std::size_t> find_bad_utf8(ByteView text);

}  // namespace penstock
