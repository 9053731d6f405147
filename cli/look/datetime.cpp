#include "cli/look/datetime.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace penstock::cli {
namespace {

__extension__ using Wide = __int128;  // 64 bits of weeks are more days than 64 bits hold, a day is 8.64e22 as

struct Unit {
  std::string_view name;
  Wide per_day;  ///< 0: longer than a day
  int digits;    ///< of a second
};
constexpr Wide kSeconds = 86400, kNanoseconds = kSeconds * 1'000'000'000;
constexpr Unit kUnits[] = {{"h", 24, 0},
                           {"m", 1440, 0},
                           {"s", kSeconds, 0},
                           {"ms", kSeconds * 1000, 3},
                           {"us", kSeconds * 1'000'000, 6},
                           {"ns", kNanoseconds, 9},
                           {"ps", kNanoseconds * 1000, 12},
                           {"fs", kNanoseconds * 1'000'000, 15},
                           {"as", kNanoseconds * 1'000'000'000, 18}};

struct Split {
  Wide quotient, rest;  ///< rest >= 0
};
Split floor_div(Wide a, Wide b) {
  const Wide quotient = a / b - (a % b < 0 ? 1 : 0);
  return {quotient, a - quotient * b};
}

/// Proleptic Gregorian calendar. https://howardhinnant.github.io/date_algorithms.html#civil_from_days
std::string date_text(Wide days) {
  const auto [era, day_of_era] = floor_div(days + 719468, 146097);  // eras of 400 years begin on 1 March
  const Wide year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const Wide day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const Wide month = (5 * day_of_year + 2) / 153;  // 0: March
  const Wide day = day_of_year - (153 * month + 2) / 5 + 1;
  const Wide year = year_of_era + era * 400 + (month >= 10 ? 1 : 0);
  return fmt::format("{:04}-{:02}-{:02}", year, month < 10 ? month + 3 : month - 9, day);
}

}  // namespace

std::string datetime_text(const DType& dtype, std::int64_t value) {
  if (value == INT64_MIN) return "NaT";
  const Wide ticks = static_cast<Wide>(value) * dtype.unit_count;
  if (dtype.unit == "Y") return fmt::format("{:04}", ticks + 1970);
  if (dtype.unit == "M") {
    const auto [years, month] = floor_div(ticks, 12);
    return fmt::format("{:04}-{:02}", years + 1970, month + 1);
  }
  if (dtype.unit == "W") return date_text(ticks * 7);
  if (dtype.unit == "D") return date_text(ticks);
  const auto* unit = std::ranges::find(kUnits, std::string_view(dtype.unit), &Unit::name);
  if (unit == std::end(kUnits)) return std::to_string(value);
  const auto [days, in_day] = floor_div(ticks, unit->per_day);
  std::string text = date_text(days) + fmt::format("T{:02}", in_day * 24 / unit->per_day);
  if (unit->name == "h") return text;
  text += fmt::format(":{:02}", in_day * 1440 / unit->per_day % 60);
  if (unit->name == "m") return text;
  text += fmt::format(":{:02}", in_day * kSeconds / unit->per_day % 60);
  if (unit->digits > 0) text += fmt::format(".{:0{}}", in_day % (unit->per_day / kSeconds), unit->digits);
  return text;
}

}  // namespace penstock::cli
