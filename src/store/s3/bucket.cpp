#include "store/s3/bucket.hpp"

#include "store/s3/answers.hpp"

namespace penstock::s3 {

Result<http::Reply> ask_bucket(const S3Origin& origin, const Query& query, std::string_view prefix) {
  http::Call call;
  call.where = origin.where(prefix);
  call.request = [&] { return origin.make("GET", "", query, {}, {}); };
  call.judge = [&](const http::Head& head, const std::string& body, http::Detour& detour) -> http::Next {
    if (head.status == 200) return {};
    if (head.status == 501)
      return {http::Next::Kind::over,
              Error(ErrorCode::unsupported, call.where + ": the server does not know the question")};
    http::Next next = origin.refused(head, body, prefix, detour);
    if (next.kind == http::Next::Kind::over && next.status)  // 404 of what is no object
      next.status = http::status_error(head, call.where, parse_refusal(body).code);
    return next;
  };
  return http::carry_out(call, CancelToken(), origin.patience());
}

Error not_going_on(const S3Origin& origin, std::string_view prefix) {
  return {ErrorCode::io_error, origin.where(prefix) + ": the server's listing does not go on"};
}

}  // namespace penstock::s3
