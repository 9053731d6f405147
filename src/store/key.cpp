#include "store/key.hpp"

#include "penstock/store.hpp"

namespace penstock {
namespace {

Error bad_key(std::string_view key, const char* why) {
  return {ErrorCode::invalid_argument, "key " + quoted_key(key) + " " + why};
}

}  // namespace

std::string quoted_key(std::string_view key) {
  constexpr char kHex[] = "0123456789abcdef";
  constexpr std::size_t kMax = 200;
  std::string out = "'";
  for (const char c : key.substr(0, kMax)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f)  // bytes of UTF-8 stay as they are
      out += c;
    else
      out.append("\\x").append({kHex[byte >> 4], kHex[byte & 15]});
  }
  if (key.size() > kMax) out += "...";
  return out += "'";
}

Status check_key(std::string_view key) {
  if (key.empty()) return bad_key(key, "is empty");
  if (key.find('\0') != std::string_view::npos) return bad_key(key, "holds a zero byte");
  if (key.front() == '/') return bad_key(key, "is absolute: keys are relative to the store");
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t end = std::min(key.find('/', begin), key.size());
    const std::string_view part = key.substr(begin, end - begin);
    if (part.empty()) return bad_key(key, "has an empty part ('//' or '/' at its end)");
    if (part == "." || part == "..") return bad_key(key, "has a part '.' or '..'");
    begin = end + 1;
  }
  return {};
}

Status check_prefix(std::string_view prefix) { return prefix.empty() ? Status{} : check_key(prefix); }

std::string join_key(std::string_view prefix, std::string_view name) {
  std::string out(prefix);
  if (!out.empty() && out.back() != '/' && !name.empty()) out += '/';
  return out += name;
}

std::string_view directory_of(std::string_view key) {
  const std::size_t slash = key.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : key.substr(0, slash);
}

Error read_only_error(std::string_view url) {
  return {ErrorCode::permission_denied, std::string(url) + " is open for reading only"};
}

}  // namespace penstock
