#include "store/s3/sigv4.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <memory>

#include "store/http/url.hpp"

namespace penstock::s3 {
namespace {

constexpr std::size_t kHashBytes = 32;
constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";

std::string hex(std::string_view bytes) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out.append(1, kHex[byte >> 4]).append(1, kHex[byte & 15]);
  }
  return out;
}

std::string sha256_hex(std::string_view text) {
  const ByteView part = as_bytes(text);
  return s3::sha256_hex({&part, 1});
}

std::string hmac(std::string_view key, std::string_view text) {
  std::array<unsigned char, kHashBytes> out{};
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()),
       text.size(), out.data(), &size);
  return {reinterpret_cast<const char*>(out.data()), size};
}

/// Names in small letters, values without blanks around them and with single ones inside.
std::map<std::string, std::string> canonical_headers(const SignedParts& parts, std::span<const http::Header> own) {
  std::map<std::string, std::string> out{{"host", std::string(parts.host)}};
  const auto add = [&](const http::Header& header) {
    std::string name = header.name, value;
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    for (const char c : header.value) {
      if (c != ' ')
        value += c;
      else if (!value.empty() && value.back() != ' ')
        value += c;
    }
    while (value.ends_with(' ')) value.pop_back();
    out[name] = value;
  };
  for (const http::Header& header : parts.headers) add(header);
  for (const http::Header& header : own) add(header);
  return out;
}

}  // namespace

std::string sha256_hex(std::span<const ByteView> parts) {
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  const std::unique_ptr<EVP_MD_CTX, Free> context(EVP_MD_CTX_new());
  std::array<unsigned char, kHashBytes> out{};
  EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr);
  for (const ByteView part : parts) EVP_DigestUpdate(context.get(), part.data(), part.size());
  EVP_DigestFinal_ex(context.get(), out.data(), nullptr);
  return hex({reinterpret_cast<const char*>(out.data()), out.size()});
}

std::string canonical_query(std::vector<std::pair<std::string, std::string>> query) {
  for (auto& [name, value] : query) {
    name = http::escaped(name);
    value = http::escaped(value);
  }
  std::sort(query.begin(), query.end());
  std::string out;
  for (const auto& [name, value] : query) out.append(out.empty() ? "" : "&").append(name).append("=").append(value);
  return out;
}

std::string amz_date(std::time_t at) {
  std::tm utc{};
  ::gmtime_r(&at, &utc);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &utc)};
}

std::vector<http::Header> sign(const SignedParts& parts, const Credentials& by, std::string_view region,
                               std::time_t at) {
  const std::string date = amz_date(at), day = date.substr(0, 8);
  std::vector<http::Header> own{{"x-amz-date", date}, {"x-amz-content-sha256", std::string(parts.payload_sha256)}};
  if (!by.session_token.empty()) own.push_back({"x-amz-security-token", by.session_token});

  std::string names, canonical = std::string(parts.method) + "\n" + std::string(parts.path) + "\n" +
                                 canonical_query(parts.query) + "\n";
  for (const auto& [name, value] : canonical_headers(parts, own)) {
    canonical.append(name).append(":").append(value).append("\n");
    names.append(names.empty() ? "" : ";").append(name);
  }
  canonical.append("\n").append(names).append("\n").append(parts.payload_sha256);

  const std::string scope = day + "/" + std::string(region) + "/s3/aws4_request";
  const std::string text = std::string(kAlgorithm) + "\n" + date + "\n" + scope + "\n" + sha256_hex(canonical);
  const std::string key = hmac(hmac(hmac(hmac("AWS4" + by.secret_access_key, day), region), "s3"), "aws4_request");
  own.push_back({"Authorization", std::string(kAlgorithm) + " Credential=" + by.access_key_id + "/" + scope +
                                      ", SignedHeaders=" + names + ", Signature=" + hex(hmac(key, text))});
  return own;
}

}  // namespace penstock::s3
