// AWS Signature Version 4 for S3.
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
#pragma once
#include <ctime>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "penstock/bytes.hpp"
#include "store/http/message.hpp"

namespace penstock::s3 {

/// Who signs.
struct Credentials {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token;  ///< empty: none
};

/// A request, as it is signed.
struct SignedParts {
  std::string_view method;
  std::string_view host;                                        ///< with the port where it is sent with one
  std::string_view path;                                        ///< escaped, as it is sent
  std::vector<std::pair<std::string, std::string>> query = {};  ///< not escaped
  std::span<const http::Header> headers = {};                   ///< all of them are signed
  std::string_view payload_sha256;                              ///< in hexadecimal
};

/// SHA-256 in hexadecimal of bytes that follow each other.
std::string sha256_hex(std::span<const ByteView> parts);
/// The query as it is sent and signed: escaped, sorted.
std::string canonical_query(std::vector<std::pair<std::string, std::string>> query);
/// "20260723T101500Z"
std::string amz_date(std::time_t at);
/// The headers that make it a signed request: x-amz-date, x-amz-content-sha256, x-amz-security-token, Authorization.
std::vector<http::Header> sign(const SignedParts& parts, const Credentials& by, std::string_view region,
                               std::time_t at);

}  // namespace penstock::s3
