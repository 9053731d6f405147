// Where the objects of a store are: their URLs, what every request to them carries, and what refusals mean.
#pragma once
#include <string>
#include <string_view>

#include "store/http/client.hpp"

namespace penstock::http {

/// Of one exchange: how often it was sent elsewhere, and where.
struct Detour {
  int count = 0;
  std::string url;  ///< empty: the object's own
};

/// Immutable but for what it learns of its server; thread-safe; shared by the requests that are under way.
class Origin {
 public:
  virtual ~Origin() = default;
  /// The request for the object, complete and signed.  Errors: permission_denied (no credentials), invalid_argument.
  [[nodiscard]] virtual Result<Request> request(std::string_view method, std::string_view key,
                                                std::vector<Header> headers, std::vector<ByteView> body,
                                                const Detour& detour) const = 0;
  /// What follows an answer that is neither the object nor what the method knows itself (404, 412, 416).
  [[nodiscard]] virtual Next refused(const Head& head, std::string_view body, std::string_view key,
                                     Detour& detour) const = 0;
  /// The object, for messages.
  [[nodiscard]] virtual std::string where(std::string_view key) const = 0;
  [[nodiscard]] virtual const Patience& patience() const = 0;
};

/// What follows an attempt without a complete answer.
Next after_failure(const Ended& ended, const std::string& where);
/// The same for one whose status is_passing.
Next after_passing(const Head& head, const std::string& where, std::string_view detail);
/// The error that a status means: permission_denied (401, 403), not_found (404, 410), io_error.
Error status_error(const Head& head, const std::string& where, std::string_view detail);

}  // namespace penstock::http
