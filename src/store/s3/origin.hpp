// A bucket, or what lies below a prefix of it.
#pragma once
#include <mutex>

#include "store/http/call.hpp"
#include "store/s3/answers.hpp"
#include "store/s3/credentials.hpp"

namespace penstock::s3 {

/// "s3://bucket/prefix", and how it is reached.
struct Place {
  std::string bucket;
  std::string prefix;              ///< without '/' at its ends; may be empty
  bool virtual_style = true;       ///< the bucket stands in the host's name
  std::string scheme, host, path;  ///< of the endpoint; an empty host: Amazon's own, by region
};

using Query = std::vector<std::pair<std::string, std::string>>;

class S3Origin final : public http::Origin {
 public:
  S3Origin(Place place, Settings settings, const http::Patience& patience);

  Result<http::Request> request(std::string_view method, std::string_view key, std::vector<http::Header> headers,
                                std::vector<ByteView> body, const http::Detour& detour) const override;
  http::Next refused(const http::Head& head, std::string_view body, std::string_view key,
                     http::Detour& detour) const override;
  std::string where(std::string_view key) const override;
  const http::Patience& patience() const override { return patience_; }

  /// Of an object; with an empty key, of the bucket.  `payload_sha256` empty: it is computed.
  Result<http::Request> make(std::string_view method, std::string_view key, Query query,
                             std::vector<http::Header> headers, std::vector<ByteView> body,
                             std::string_view payload_sha256 = {}) const;
  /// What the server said of one object, by its key in the bucket, in an answer about many.
  [[nodiscard]] Error refusal_error(std::string_view full_key, const Refusal& refusal) const;
  [[nodiscard]] const Place& place() const { return place_; }
  /// The key in the bucket.
  [[nodiscard]] std::string full_key(std::string_view key) const;

 private:
  [[nodiscard]] std::string region() const;
  /// Whether the answer tells another region, or the server's time, and the request is worth sending again.
  bool learn(const http::Head& head, std::string_view region_told, std::string_view code) const;
  /// Server's words, without what must not be shown.
  [[nodiscard]] std::string safe(std::string text) const;
  [[nodiscard]] std::string detail_of(const Refusal& refusal) const;

  const Place place_;
  const Settings settings_;
  const http::Patience patience_;
  mutable std::mutex mutex_;
  mutable std::string region_;             // guarded by mutex_
  mutable std::int64_t clock_skew_s_ = 0;  // guarded by mutex_; what the server's clock is ahead
};

}  // namespace penstock::s3
