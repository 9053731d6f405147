// URLs of HTTP: taken apart, put together, and the escapes of keys.
#pragma once
#include <string>
#include <string_view>

#include "penstock/error.hpp"

namespace penstock::http {

/// Unreserved letters stay, '/' too, all else becomes %XX in capitals: what signatures are made over.
std::string escaped_path(std::string_view text);
/// The same with '/' escaped: names and values of queries.
std::string escaped(std::string_view text);
/// "%20" -> " "; a '%' without two digits stays.
std::string unescaped(std::string_view text);

struct Url {
  std::string scheme;         ///< "http", "https"
  std::string user_password;  ///< "user:password", as they are meant; empty: none
  std::string host;           ///< with ":port" where that is not the scheme's own
  std::string path;           ///< escaped; begins with '/', does not end with one
  std::string query;          ///< escaped, without '?'

  /// "https://host:9000"; credentials go nowhere else.
  [[nodiscard]] std::string origin() const { return scheme + "://" + host; }
};

/// Errors: invalid_argument (no such URL; it has a fragment), unsupported (another scheme).
Result<Url> parse_url(const std::string& text);
/// Where "Location: `location`" of an answer to `url` leads.  Errors: io_error.
Result<std::string> redirected(const std::string& url, const std::string& location);

}  // namespace penstock::http
