// Points in time as text.
#pragma once
#include <cstdint>
#include <string>

#include "penstock/dtype.hpp"

namespace penstock::cli {

/// ISO 8601 as exact as the unit of `dtype` (a datetime): "2020-01-01T00:00:00.250", "2020-01", "NaT".
/// A generic unit has no calendar: the number.
std::string datetime_text(const DType& dtype, std::int64_t value);

}  // namespace penstock::cli
