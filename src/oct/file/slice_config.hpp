// slice_config.csv: which slices are used.
#pragma once
#include <cstdint>
#include <set>
#include <string_view>

#include "penstock/error.hpp"

namespace penstock::oct {

/// Slices that are not to be used: columns slice_id and use by their names, others are passed over; true, 1 or yes, and
/// false, 0 or no.  Errors: corrupt_data (line and column; a slice that is there twice).
Result<std::set<std::uint64_t>> parse_unused_slices(std::string_view text);

}  // namespace penstock::oct
