// Numbers with units, read strictly and written for people.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "penstock/api.hpp"
#include "penstock/error.hpp"

namespace penstock {

/// "4096", "4096B", "4KiB", "1.5GiB", "4MB" (10^6), "2TB".  A letter without B ("4M"), a sign, blanks inside, or a
/// value over 2^63 are errors: invalid_argument naming the text and what is accepted.
PENSTOCK_API Result<std::uint64_t> parse_bytes(std::string_view text);
/// "500ms", "2s", "1.5h", "10us", "3min".  A bare number is an error.
PENSTOCK_API Result<std::chrono::nanoseconds> parse_duration(std::string_view text);
/// A plain unsigned decimal number.
PENSTOCK_API Result<std::uint64_t> parse_count(std::string_view text);

/// "1.50 GiB"
PENSTOCK_API std::string format_bytes(std::uint64_t bytes);
/// "9.8 GB/s" (10^9); "53.7 MB/s", "9.80 kB/s" below 0.1 of the larger unit.
PENSTOCK_API std::string format_rate(std::uint64_t bytes, double seconds);
/// "2 min 41 s", "1.92 s", "13 ms"
PENSTOCK_API std::string format_seconds(double seconds);
/// "1,048,576"
PENSTOCK_API std::string format_count(std::uint64_t count);

}  // namespace penstock
