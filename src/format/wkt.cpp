#include "format/wkt.hpp"

#include <charconv>

namespace penstock {
namespace {

/// The digits at the beginning, behind a quotation mark or none.
std::optional<std::uint32_t> code_at(std::string_view text) {
  if (text.starts_with('"')) text.remove_prefix(1);
  std::uint32_t code = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), code);
  return error == std::errc() && code <= 0xFFFF ? std::optional(code) : std::nullopt;
}

}  // namespace

std::optional<std::uint32_t> epsg_of_wkt(std::string_view wkt) {
  int depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < wkt.size(); ++i) {
    const char c = wkt[i];
    if (c == '"') in_text = !in_text;
    if (in_text) continue;
    if (c == ']' || c == ')') --depth;
    if (c != '[' && c != '(') continue;
    const std::string_view before = wkt.substr(0, i), behind = wkt.substr(i + 1);
    const bool is_code = before.ends_with("ID") || before.ends_with("AUTHORITY");
    if (depth == 1 && is_code && behind.starts_with("\"EPSG\",")) return code_at(behind.substr(7));
    ++depth;
  }
  return std::nullopt;
}

std::string name_of_wkt(std::string_view wkt) {
  const std::size_t begin = wkt.find('"');
  if (begin == std::string_view::npos) return "";
  return std::string(wkt.substr(begin + 1, wkt.find('"', begin + 1) - begin - 1));
}

}  // namespace penstock
