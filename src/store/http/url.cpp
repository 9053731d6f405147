#include "store/http/url.hpp"

#include <curl/curl.h>

#include <cctype>
#include <memory>

namespace penstock::http {
namespace {

std::string escaped_but(std::string_view text, bool keep_slash) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool unreserved = byte < 0x80 && (std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.' || c == '~');
    if (unreserved || (keep_slash && c == '/'))
      out += c;
    else
      out.append(1, '%').append(1, kHex[byte >> 4]).append(1, kHex[byte & 15]);
  }
  return out;
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

struct CloseUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using Parts = std::unique_ptr<CURLU, CloseUrl>;

/// Empty when the URL has no such part.
std::string part(const Parts& parts, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(parts.get(), which, &text, flags) != CURLUE_OK) return {};
  std::string out(text);
  curl_free(text);
  return out;
}

}  // namespace

std::string escaped_path(std::string_view text) { return escaped_but(text, true); }
std::string escaped(std::string_view text) { return escaped_but(text, false); }

std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0) {
      out += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

Result<Url> parse_url(const std::string& text) {
  const Parts parts(curl_url());
  if (parts == nullptr) return Error(ErrorCode::out_of_memory, "out of memory");
  const CURLUcode code =
      curl_url_set(parts.get(), CURLUPART_URL, text.c_str(), CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE);
  if (code != CURLUE_OK) return Error(ErrorCode::invalid_argument, text + ": " + curl_url_strerror(code));
  Url url;
  url.scheme = part(parts, CURLUPART_SCHEME);
  if (url.scheme != "http" && url.scheme != "https")
    return Error(ErrorCode::unsupported, text + ": known are http:// and https://");
  if (!part(parts, CURLUPART_FRAGMENT).empty())
    return Error(ErrorCode::invalid_argument, text + ": a URL of a store has no part behind '#'");
  url.host = part(parts, CURLUPART_HOST);
  const std::string port = part(parts, CURLUPART_PORT, CURLU_NO_DEFAULT_PORT);
  if (!port.empty()) url.host += ":" + port;
  const std::string user = part(parts, CURLUPART_USER, CURLU_URLDECODE);
  if (!user.empty()) url.user_password = user + ":" + part(parts, CURLUPART_PASSWORD, CURLU_URLDECODE);
  // Escaped anew: whatever the user left as it is must look like what signatures and caches see.
  url.path = escaped_path(unescaped(part(parts, CURLUPART_PATH)));
  while (url.path.ends_with('/')) url.path.pop_back();
  url.query = part(parts, CURLUPART_QUERY);
  return url;
}

Result<std::string> redirected(const std::string& url, const std::string& location) {
  const Parts parts(curl_url());
  if (parts == nullptr) return Error(ErrorCode::out_of_memory, "out of memory");
  if (curl_url_set(parts.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK ||
      curl_url_set(parts.get(), CURLUPART_URL, location.c_str(), CURLU_URLENCODE) != CURLUE_OK)
    return Error(ErrorCode::io_error, "the server redirects to what is no URL");
  return part(parts, CURLUPART_URL);
}

}  // namespace penstock::http
