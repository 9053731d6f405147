#include "store/http/message.hpp"

#include <charconv>

namespace penstock::http {
namespace {

/// Takes a number from the begin of `text`.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

bool take(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

}  // namespace

std::string_view Head::field(std::string_view name) const {
  const auto found = fields.find(name);
  return found == fields.end() ? std::string_view() : std::string_view(found->second);
}

std::optional<std::uint64_t> Head::content_length() const {
  std::string_view text = field("content-length");
  const auto length = take_number(text);
  return text.empty() ? length : std::nullopt;
}

std::optional<ContentRange> parse_content_range(std::string_view text) {
  ContentRange range;
  if (!take(text, "bytes ")) return std::nullopt;
  if (!take(text, "*")) {
    const auto first = take_number(text);
    if (!first || !take(text, "-")) return std::nullopt;
    const auto last = take_number(text);
    if (!last || *last < *first || *last == ~std::uint64_t{0}) return std::nullopt;
    range.has_part = true;
    range.first = *first;
    range.count = *last - *first + 1;
  }
  if (!take(text, "/")) return std::nullopt;
  if (!take(text, "*")) {
    const auto size = take_number(text);
    if (!size || *size == kNotTold) return std::nullopt;
    range.object_bytes = *size;
    if (range.has_part && range.first + range.count > *size) return std::nullopt;
  }
  return text.empty() ? std::optional(range) : std::nullopt;
}

ObjectVersion version_of(std::string_view etag) {
  if (etag.size() < 3 || etag.front() != '"' || etag.back() != '"') return {};  // W/"..." is weak
  std::uint64_t number = 14695981039346656037ULL;                               // FNV-1a
  for (const char c : etag) number = (number ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return {number == 0 ? 1 : number, std::make_shared<const EtagPin>(std::string(etag))};
}

std::string printable(std::string_view text) {
  constexpr std::size_t kMax = 300;
  std::string out(text.substr(0, kMax));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  if (text.size() > kMax) out += "...";
  return out;
}

}  // namespace penstock::http
