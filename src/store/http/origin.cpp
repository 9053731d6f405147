#include "store/http/origin.hpp"

namespace penstock::http {

Next after_failure(const Ended& ended, const std::string& where) {
  Error error = ended.transport.error();
  error.add_context(where);
  return {ended.lasting ? Next::Kind::over : Next::Kind::again, std::move(error)};
}

Next after_passing(const Head& head, const std::string& where, std::string_view detail) {
  return {Next::Kind::again, status_error(head, where, detail), parse_retry_after(head.field("retry-after"))};
}

Error status_error(const Head& head, const std::string& where, std::string_view detail) {
  std::string text = where + ": the server answers " + std::to_string(head.status);
  if (!detail.empty()) text += ": " + printable(detail);
  switch (head.status) {
    case 401:
    case 403: return {ErrorCode::permission_denied, std::move(text)};
    case 404:
    case 410: return {ErrorCode::not_found, std::move(text)};
    default: return {ErrorCode::io_error, std::move(text)};
  }
}

}  // namespace penstock::http
