// Secrets of URLs, kept out of every message.
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "penstock/store_options.hpp"

namespace penstock {
namespace {

constexpr std::string_view kHidden = "***";

bool is_scheme_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '-' || c == '.';
}

/// Length of the URL at the begin of `text`: up to what ends one in running text.
std::size_t url_length(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && static_cast<unsigned char>(text[at]) > ' ' && text[at] != '"' && text[at] != '\'' &&
         text[at] != '<' && text[at] != '>' && text[at] != '`')
    ++at;
  while (at > 0 && std::string_view(":,.;)").find(text[at - 1]) != std::string_view::npos) --at;  // of the sentence
  return at;
}

/// Where user and password end in what follows "://", behind the '@'; 0: there are none.  A password may hold '/', '?'
/// and '#' unescaped, wrongly; what looks like a port is none.
std::size_t end_of_user(std::string_view rest) {
  const std::size_t authority = std::min(rest.find_first_of("/?#"), rest.size());
  if (const std::size_t at = rest.substr(0, authority).rfind('@'); at != std::string_view::npos) return at + 1;
  const std::size_t colon = rest.substr(0, authority).find(':');
  const auto is_port = [&] {
    return rest.substr(colon + 1, authority - colon - 1).find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (colon == std::string_view::npos || rest.starts_with('[') || is_port()) return 0;
  const std::size_t at = rest.rfind('@');
  return at == std::string_view::npos ? 0 : at + 1;
}

/// "?a=1&b" -> "?a=***&***"
void append_query(std::string& out, std::string_view query) {
  while (!query.empty()) {
    out += query.front();
    query.remove_prefix(1);
    const std::size_t end = std::min(query.find_first_of("&;?#"), query.size());
    const std::string_view one = query.substr(0, end);
    const std::size_t equals = one.find('=');
    if (equals != std::string_view::npos) out += one.substr(0, equals + 1);
    if (!one.empty() && equals != one.size() - 1) out += kHidden;
    query.remove_prefix(end);
  }
}

}  // namespace

std::string redacted(std::string_view text) {
  std::string out;
  for (;;) {
    const std::size_t mark = text.find("://");
    if (mark == std::string_view::npos) return out += text;
    const bool is_url = mark > 0 && is_scheme_letter(text[mark - 1]);
    out += text.substr(0, mark + 3);
    text.remove_prefix(mark + 3);
    if (!is_url) continue;
    std::string_view url = text.substr(0, url_length(text));
    text.remove_prefix(url.size());
    if (const std::size_t user = end_of_user(url); user != 0) {
      out += kHidden;
      out += '@';
      url.remove_prefix(user);
    }
    const std::size_t query = std::min(url.find_first_of("?#"), url.size());
    out += url.substr(0, query);
    append_query(out, url.substr(query));
  }
}

Error redacted(const Error& error) {
  Error safe(error.code(), redacted(error.message()));
  safe.set_hint(redacted(error.hint())).set_errno(error.system_errno());
  return safe;
}

}  // namespace penstock
