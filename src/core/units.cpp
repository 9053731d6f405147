#include "core/units.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace penstock {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};
constexpr Unit kByteUnits[] = {{"B", 1},    {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40},
                               {"KB", 1e3}, {"kB", 1e3},     {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12}};
constexpr Unit kTimeUnits[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}};

/// Splits "1.5GiB" into number and unit; a number is digits with at most one point between digits.
bool split(std::string_view text, double& number, std::string_view& unit) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view digits = text.substr(0, end);
  unit = text.substr(end);
  if (digits.empty() || digits.front() == '.' || digits.back() == '.') return false;
  const auto [ptr, ec] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, std::chars_format::fixed);
  return ec == std::errc() && ptr == digits.data() + digits.size();
}

Error bad(std::string_view text, std::string_view what, std::string_view accepted) {
  return {ErrorCode::invalid_argument, fmt::format("'{}' is not {}; write {}", text, what, accepted)};
}

}  // namespace

Result<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t value = 0;
  const auto [ptr, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc() || ptr != text.data() + text.size()) return bad(text, "a count", "digits only, e.g. 16");
  return value;
}

Result<std::uint64_t> parse_bytes(std::string_view text) {
  constexpr std::string_view accepted = "a number with a unit, e.g. 512KiB, 4MiB, 1.5GiB, 2GB, or plain bytes";
  double number = 0;
  std::string_view unit;
  if (!split(text, number, unit)) return bad(text, "a size", accepted);
  if (unit.empty()) {  // exact, also above 2^53
    if (auto count = parse_count(text); count && *count <= (std::uint64_t{1} << 63)) return count;
    return bad(text, "a size", accepted);
  }
  for (const Unit& u : kByteUnits) {
    if (u.name != unit) continue;
    const double bytes = number * u.factor;
    if (bytes > 0x1p63) return bad(text, "a size below 2^63 bytes", accepted);
    return static_cast<std::uint64_t>(std::llround(bytes));
  }
  return bad(text, "a size", accepted);
}

Result<std::chrono::nanoseconds> parse_duration(std::string_view text) {
  constexpr std::string_view accepted = "a number with a unit, e.g. 500ms, 2s, 1.5h (ns, us, ms, s, min, h)";
  double number = 0;
  std::string_view unit;
  if (!split(text, number, unit)) return bad(text, "a duration", accepted);
  for (const Unit& u : kTimeUnits) {
    if (u.name != unit) continue;
    const double ns = number * u.factor;
    if (ns > 9.2e18) return bad(text, "a duration below 292 years", accepted);
    return std::chrono::nanoseconds(std::llround(ns));
  }
  return bad(text, "a duration", accepted);
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 5> names = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t i = 0;
  while (value >= 1024 && i + 1 < names.size()) {
    value /= 1024;
    ++i;
  }
  if (i == 0) return fmt::format("{} B", bytes);
  return fmt::format("{:.{}f} {}", value, value < 10 ? 2 : value < 100 ? 1 : 0, names[i]);
}

std::string format_rate(std::uint64_t bytes, double seconds) {
  if (seconds <= 0) return "-";
  double rate = static_cast<double>(bytes) / seconds / 1e9;
  const char* unit = "GB/s";
  for (const char* smaller : {"MB/s", "kB/s"}) {
    if (rate >= 0.1 || rate == 0) break;
    rate *= 1e3;
    unit = smaller;
  }
  return fmt::format("{:.{}f} {}", rate, rate < 1 ? 3 : rate < 10 ? 2 : 1, unit);
}

std::string format_seconds(double seconds) {
  if (seconds < 0.001) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < 60) return fmt::format("{:.2f} s", seconds);
  const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string format_count(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t i = text.size(); i > 3;) text.insert(i -= 3, ",");
  return text;
}

}  // namespace penstock
