#include "oct/raw/info.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>

namespace penstock::oct {
namespace {

constexpr double kMaxExtent = 1 << 20;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // which editors of Windows put in front

struct Entry {
  std::string_view text;
  bool twice = false;  // with different texts
};
using Entries = std::map<std::string_view, Entry>;

Result<double> number_of(const Entries& entries, std::string_view key, double least, double most) {
  const auto at = entries.find(key);
  if (at == entries.end()) return Error(ErrorCode::corrupt_data, fmt::format("no '{}'", key));
  if (at->second.twice) return Error(ErrorCode::corrupt_data, fmt::format("'{}' is there twice and differs", key));
  double value = 0;
  const std::string_view text = at->second.text;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || !(value >= least) || !(value <= most))
    return Error(ErrorCode::corrupt_data, fmt::format("{}: '{}' is no number from {} to {}", key, text, least, most));
  return value;
}

Result<std::uint64_t> count_of(const Entries& entries, std::string_view key, double least, double most) {
  PENSTOCK_ASSIGN(const double value, number_of(entries, key, least, most));
  if (value != std::floor(value))
    return Error(ErrorCode::corrupt_data, fmt::format("{}: {} is no whole number", key, value));
  return static_cast<std::uint64_t>(value);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

}  // namespace

Result<TileInfo> parse_info(std::string_view text) {
  Entries entries;
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view value = trimmed(line.substr(colon + 1));
    const auto [entry, is_new] = entries.try_emplace(trimmed(line.substr(0, colon)), Entry{value});
    entry->second.twice |= !is_new && entry->second.text != value;
  }
  TileInfo info;
  PENSTOCK_ASSIGN(info.nx, count_of(entries, "nx", 1, kMaxExtent));
  PENSTOCK_ASSIGN(info.ny, count_of(entries, "ny", 1, kMaxExtent));
  PENSTOCK_ASSIGN(info.n_extra, count_of(entries, "n_extra", 0, kMaxExtent));
  PENSTOCK_ASSIGN(info.top_z, count_of(entries, "top_z", 0, kMaxExtent));
  PENSTOCK_ASSIGN(info.bottom_z, count_of(entries, "bottom_z", static_cast<double>(info.top_z), kMaxExtent));
  PENSTOCK_ASSIGN(info.width_um, number_of(entries, "width", 1e-3, 1e9));
  PENSTOCK_ASSIGN(info.height_um, number_of(entries, "height", 1e-3, 1e9));
  return info;
}

}  // namespace penstock::oct
