#include "store/s3/origin.hpp"

#include <curl/curl.h>

#include <array>
#include <ctime>

#include "core/utf8.hpp"
#include "store/http/url.hpp"
#include "store/key.hpp"

namespace penstock::s3 {
namespace {

using http::Next;

constexpr std::string_view kFirstRegion = "us-east-1";  // where an answer says which one it really is
constexpr std::string_view kHashOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr int kMaxDetours = 3;

/// As the field Date has it, in UTC.
std::string time_text(std::time_t at) {
  std::tm utc{};
  ::gmtime_r(&at, &utc);
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &utc)};
}

std::string hint_of(std::string_view code) {
  if (code == "ExpiredToken" || code == "ExpiredTokenException") return "the session token is over: get a new one";
  if (code == "SignatureDoesNotMatch") return "secret_access_key is not the one of access_key_id";
  if (code == "InvalidAccessKeyId" || code == "InvalidToken")
    return "the server does not know access_key_id or session_token";
  if (code == "AccessDenied")
    return "the credentials do not allow it; where listing is not allowed, S3 says so of absent objects too";
  return {};
}

/// When the time that the server told, if it did, was not the right one either.
std::string clock_hint(const http::Head& head) {
  std::string text = "the clock of this machine is wrong, or the server's: here it is " + time_text(std::time(nullptr));
  const std::string told(head.field("date"));
  return text +
         (told.empty() ? ", and the answer does not tell its own" : ", its answer is of " + http::printable(told));
}

}  // namespace

S3Origin::S3Origin(Place place, Settings settings, const http::Patience& patience)
    : place_(std::move(place)),
      settings_(std::move(settings)),
      patience_(patience),
      region_(settings_.region.empty() ? std::string(kFirstRegion) : settings_.region) {}

std::string S3Origin::full_key(std::string_view key) const { return join_key(place_.prefix, key); }
std::string S3Origin::where(std::string_view key) const { return "s3://" + join_key(place_.bucket, full_key(key)); }

std::string S3Origin::region() const {
  const std::scoped_lock lock(mutex_);
  return region_;
}

Result<http::Request> S3Origin::request(std::string_view method, std::string_view key,
                                        std::vector<http::Header> headers, std::vector<ByteView> body,
                                        const http::Detour& /*detour*/) const {
  return make(method, full_key(key), {}, std::move(headers), std::move(body));
}

Result<http::Request> S3Origin::make(std::string_view method, std::string_view key, Query query,
                                     std::vector<http::Header> headers, std::vector<ByteView> body,
                                     std::string_view payload_sha256) const {
  if (const auto bad = find_bad_utf8(as_bytes(key)))
    return Error(ErrorCode::invalid_argument,
                 "key " + quoted_key(key) + " is not UTF-8 at byte " + std::to_string(*bad) + ", as keys of S3 are");
  const std::string region = this->region();
  std::string host = place_.host, path = place_.path;
  if (host.empty()) host = "s3." + region + (region.starts_with("cn-") ? ".amazonaws.com.cn" : ".amazonaws.com");
  if (place_.virtual_style)
    host = place_.bucket + "." + host;
  else
    path += "/" + http::escaped_path(place_.bucket);
  path += "/" + http::escaped_path(key);

  http::Request request;
  request.method = std::string(method);
  request.url = place_.scheme + "://" + host + path;
  if (const std::string text = canonical_query(query); !text.empty()) request.url += "?" + text;
  request.ca_file = settings_.ca_file;
  request.body = std::move(body);
  request.headers = std::move(headers);
  if (!settings_.credentials) return request;
  std::string hash(payload_sha256);
  if (hash.empty()) hash = request.body.empty() ? std::string(kHashOfNothing) : sha256_hex(request.body);
  std::int64_t skew = 0;
  {
    const std::scoped_lock lock(mutex_);
    skew = clock_skew_s_;
  }
  const SignedParts parts{method, host, path, std::move(query), request.headers, hash};
  for (http::Header& one : sign(parts, *settings_.credentials, region, std::time(nullptr) + skew))
    request.headers.push_back(std::move(one));
  return request;
}

bool S3Origin::learn(const http::Head& head, std::string_view region_told, std::string_view code) const {
  const std::scoped_lock lock(mutex_);
  const std::string_view by_field = head.field("x-amz-bucket-region");
  const std::string told(by_field.empty() ? region_told : by_field);
  if (is_region(told) && told != region_) {
    region_ = told;
    return true;
  }
  if (code != "RequestTimeTooSkewed") return false;
  const std::time_t server = curl_getdate(std::string(head.field("date")).c_str(), nullptr);
  if (server < 0) return false;
  clock_skew_s_ = std::int64_t{server} - std::int64_t{std::time(nullptr)};
  return true;
}

std::string S3Origin::safe(std::string text) const {
  if (!settings_.credentials) return text;
  const Credentials& own = *settings_.credentials;
  for (const std::string* secret : {&own.secret_access_key, &own.session_token}) {
    if (secret->empty()) continue;
    for (std::size_t at = text.find(*secret); at != std::string::npos; at = text.find(*secret, at))
      text.replace(at, secret->size(), "***");
  }
  return text;
}

std::string S3Origin::detail_of(const Refusal& refusal) const {
  std::string detail = refusal.code;
  if (!refusal.message.empty()) detail += detail.empty() ? refusal.message : ": " + refusal.message;
  return safe(std::move(detail));
}

Error S3Origin::refusal_error(std::string_view full_key, const Refusal& refusal) const {
  const ErrorCode code = refusal.code == "AccessDenied" ? ErrorCode::permission_denied : ErrorCode::io_error;
  Error error(code, "s3://" + place_.bucket + "/" + http::printable(full_key) + ": the server answers " +
                        http::printable(detail_of(refusal)));
  return error.set_hint(hint_of(refusal.code));
}

Next S3Origin::refused(const http::Head& head, std::string_view body, std::string_view key,
                       http::Detour& detour) const {
  const Refusal refusal = parse_refusal(body);
  if (head.status == 404) {
    if (refusal.code != "NoSuchBucket") return {};
    return {Next::Kind::over, Error(ErrorCode::not_found, where("") + ": there is no bucket of this name")};
  }
  const bool elsewhere = head.status == 301 || head.status == 307 || head.status == 400 || head.status == 403;
  if (elsewhere && detour.count < kMaxDetours && learn(head, refusal.region, refusal.code)) {
    ++detour.count;
    return {Next::Kind::at_once, {}};
  }
  const std::string detail = detail_of(refusal);
  if (http::is_passing(head.status) || refusal.code == "RequestTimeout" || refusal.code == "SlowDown")
    return http::after_passing(head, where(key), detail);
  if (head.status == 301 || head.status == 302 || head.status == 307 || head.status == 308)
    return {Next::Kind::over,
            Error(ErrorCode::io_error, where(key) + ": the server sends this request to another host, and " +
                                           "a signed request goes nowhere else")
                .set_hint("option region or endpoint names the right one")};
  Error error = http::status_error(head, where(key), detail);
  if (refusal.code == "ExpiredToken" || refusal.code == "InvalidToken")
    error = Error(ErrorCode::permission_denied, error.message());
  error.set_hint(refusal.code == "RequestTimeTooSkewed" ? clock_hint(head) : hint_of(refusal.code));
  return {Next::Kind::over, std::move(error)};
}

}  // namespace penstock::s3
