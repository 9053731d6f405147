// What well-known text of a coordinate reference system says of itself, which needs no PROJ.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace penstock {

/// The EPSG code that it (WKT 1 or 2) has for the system as a whole: codes of its parts stand deeper.
std::optional<std::uint32_t> epsg_of_wkt(std::string_view wkt);
/// What stands between the first two quotation marks; empty: nothing.
std::string name_of_wkt(std::string_view wkt);

}  // namespace penstock
