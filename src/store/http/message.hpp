// What goes over HTTP, as data.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/bytes.hpp"
#include "penstock/fetch.hpp"

namespace penstock::http {

struct Header {
  std::string name;
  std::string value;
};

/// A request of one attempt, complete.
struct Request {
  std::string method = "GET";
  std::string url;  ///< may hold secrets
  std::vector<Header> headers;
  std::vector<ByteView> body;  ///< sent one after the other; their memory outlives the attempt
  std::string ca_file;         ///< empty: the system's certificates
};

/// An answer without its body.
struct Head {
  int status = 0;           ///< 0: none came
  bool sent_twice = false;  ///< by libcurl, on another connection: the first may have been carried out
  std::map<std::string, std::string, std::less<>> fields;  ///< names in small letters

  /// Empty when it is not there.
  [[nodiscard]] std::string_view field(std::string_view name) const;
  /// content-length; nullopt when it is not told or no number.
  [[nodiscard]] std::optional<std::uint64_t> content_length() const;
};

/// "bytes 5-9/100", "bytes */100" (then there is no part).
struct ContentRange {
  bool has_part = false;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::uint64_t object_bytes = kNotTold;
};
/// nullopt: not such a text, or numbers that cannot be.
std::optional<ContentRange> parse_content_range(std::string_view text);

/// The ETag by which an object is asked for again; held by ObjectVersion.
class EtagPin final : public ObjectPin {
 public:
  explicit EtagPin(std::string etag) : etag_(std::move(etag)) {}
  [[nodiscard]] const std::string& etag() const { return etag_; }

 private:
  std::string etag_;
};
/// The version that an ETag names; one that is weak, or absent, names none.
ObjectVersion version_of(std::string_view etag);

/// "text" with what no terminal should see replaced, cut at 300 bytes: fit for messages.
std::string printable(std::string_view text);

}  // namespace penstock::http
