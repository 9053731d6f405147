#include "store/s3/s3_store.hpp"

#include <algorithm>
#include <atomic>

#include "store/condition.hpp"
#include "store/http/remote_store.hpp"
#include "store/http/url.hpp"
#include "store/key.hpp"
#include "store/s3/answers.hpp"
#include "store/s3/bucket.hpp"
#include "store/s3/erase.hpp"
#include "store/s3/origin.hpp"
#include "store/s3/upload.hpp"

namespace penstock::s3 {
namespace {

constexpr StoreOptionName kOptions[] = {
    {"endpoint", "URL of the server; left out: AWS_ENDPOINT_URL, else Amazon's own"},
    {"region", "left out: AWS_REGION, the profile's, else what the server answers"},
    {"access_key_id", "left out: AWS_ACCESS_KEY_ID, else the profile's"},
    {"secret_access_key", "left out: AWS_SECRET_ACCESS_KEY, else the profile's"},
    {"session_token", "of temporary credentials; left out: AWS_SESSION_TOKEN, else the profile's"},
    {"profile", "in ~/.aws/credentials and ~/.aws/config; left out: AWS_PROFILE, else default"},
    {"skip_signature", "true: nothing is signed (public data)"},
    {"virtual_hosted_style_request", "true: the bucket stands in the host's name; the default without an endpoint"},
    {"ca_file", "certificates to trust (PEM); left out: AWS_CA_BUNDLE, else those of the system"},
    {"deadline", "for a request with all its attempts; 60s"},
    {"silence", "after which a connection is given up; 10s"},
};

class S3Store final : public http::RemoteStore, public AtomicConditions, public InBucket {
 public:
  S3Store(std::shared_ptr<const S3Origin> origin, std::string url, std::string path_taken, StoreOptions options,
          bool writable)
      : RemoteStore(std::move(url), origin, std::move(options)),
        s3_(std::move(origin)),
        path_taken_(std::move(path_taken)),
        writable_(writable) {}
  std::string path_taken() const override {
    return takes_lists_ ? path_taken_ : path_taken_ + "; objects removed one by one, as it knows no lists of them";
  }
  bool writable() const override { return writable_; }

  Result<std::vector<StoreEntry>> list_dir(std::string_view prefix) const override {
    PENSTOCK_TRY(check_prefix(prefix));
    std::vector<StoreEntry> entries;
    const std::string below = below_of(prefix);
    PENSTOCK_TRY(list_pages(prefix, "/", [&](Listing page) -> Status {
      for (const std::string& key : page.keys) add(entries, key, below, false);
      for (std::string& one : page.prefixes) {
        if (one.ends_with('/')) one.pop_back();
        add(entries, one, below, true);
      }
      return {};
    }));
    std::sort(entries.begin(), entries.end(), [](const StoreEntry& a, const StoreEntry& b) {
      return a.name != b.name ? a.name < b.name : a.is_prefix < b.is_prefix;
    });
    return entries;
  }

  Result<std::vector<std::string>> list(std::string_view prefix) const override {
    PENSTOCK_TRY(check_prefix(prefix));
    std::vector<std::string> keys;
    const std::size_t skip = s3_->place().prefix.empty() ? 0 : s3_->place().prefix.size() + 1;
    PENSTOCK_TRY(list_pages(prefix, "", [&](const Listing& page) -> Status {
      for (const std::string& key : page.keys)
        if (key.size() > skip && check_key(std::string_view(key).substr(skip))) keys.push_back(key.substr(skip));
      return {};
    }));
    std::sort(keys.begin(), keys.end());
    return keys;
  }

  Status set(std::string_view key, ByteView value) override { return set_parts(key, {&value, 1}); }
  Status set_parts(std::string_view key, std::span<const ByteView> parts) override {
    return set_if(key, parts, WriteCondition::any(), CancelToken());
  }
  Status set_if(std::string_view key, std::span<const ByteView> parts, const WriteCondition& condition,
                const CancelToken& cancel) override {
    PENSTOCK_TRY(check_change(key));
    return put_object(*this, *s3_, key, parts, condition, cancel);
  }
  Result<std::unique_ptr<ObjectWriter>> writer(std::string_view key) override {
    PENSTOCK_TRY(check_change(key));
    return make_upload(*this, s3_, key);
  }

  std::chrono::milliseconds patience() const override { return s3_->patience().deadline; }

  const S3Origin& bucket() const override { return *s3_; }

  Status erase(std::string_view key) override {
    PENSTOCK_TRY(check_change(key));
    const std::string one(key);
    return erase_objects(*s3_, {&one, 1}, takes_lists_);
  }
  Status erase_prefix(std::string_view prefix) override {
    if (!writable_) return read_only_error(url_);
    PENSTOCK_ASSIGN(std::vector<std::string> keys, list(prefix));
    if (!prefix.empty()) keys.emplace_back(prefix);
    return erase_objects(*s3_, keys, takes_lists_);
  }

 private:
  Status check_change(std::string_view key) const {
    if (!writable_) return read_only_error(url_);
    return check_key(key);
  }
  std::string below_of(std::string_view prefix) const {
    const std::string full = s3_->full_key(prefix);
    return full.empty() ? full : full + "/";
  }
  /// What other programs put there may have names that are none here ("a//b", "folder/"): those are left out.
  static void add(std::vector<StoreEntry>& entries, std::string_view key, const std::string& below, bool is_prefix) {
    if (!key.starts_with(below)) return;
    const std::string_view name = key.substr(below.size());
    if (check_key(name)) entries.push_back({std::string(name), is_prefix});
  }

  template <class Take>
  Status list_pages(std::string_view prefix, const std::string& delimiter, const Take& take) const {
    for (std::string token;;) {
      Query query{{"list-type", "2"}, {"encoding-type", "url"}, {"prefix", below_of(prefix)}};
      if (!delimiter.empty()) query.emplace_back("delimiter", delimiter);
      if (!token.empty()) query.emplace_back("continuation-token", token);
      PENSTOCK_ASSIGN(const http::Reply reply, ask_bucket(*s3_, query, prefix));
      PENSTOCK_ASSIGN_IN(Listing page, parse_listing(reply.body), s3_->where(prefix));
      const bool more = page.truncated;
      std::string next = page.next;
      PENSTOCK_TRY(take(std::move(page)));
      if (!more) return {};
      if (next == token) return not_going_on(*s3_, prefix);
      token = std::move(next);
    }
  }

  const std::shared_ptr<const S3Origin> s3_;
  const std::string path_taken_;
  const bool writable_;
  std::atomic<bool> takes_lists_{true};
};

/// Letters that can stand in the name of a host and change nothing else.
bool is_bucket(std::string_view text) {
  constexpr std::size_t kMin = 3, kMax = 255;  // of older ones
  return text.size() >= kMin && text.size() <= kMax && text.front() != '.' && text.front() != '-' &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") ==
             std::string_view::npos;
}

Result<Place> place_of(const StoreUrl& url, const StoreOptions& options, const std::string& endpoint) {
  Place place;
  const std::string_view rest = url.rest;
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  place.bucket = std::string(rest.substr(0, slash));
  if (rest.find_first_of("?#") != std::string_view::npos)
    return Error(ErrorCode::invalid_argument, std::string(url.text) + ": a URL of S3 ends with its path")
        .set_hint("what is said beside it is given as options");
  if (!is_bucket(place.bucket))
    return Error(ErrorCode::invalid_argument, std::string(url.text) + ": no bucket of S3 has such a name");
  if (slash < rest.size()) place.prefix = std::string(rest.substr(slash + 1));
  while (place.prefix.ends_with('/')) place.prefix.pop_back();
  if (!place.prefix.empty()) PENSTOCK_TRY_IN(check_key(place.prefix), std::string(url.text));
  // A certificate for *.s3.amazonaws.com does not fit a bucket with a dot.
  place.virtual_style = endpoint.empty() && place.bucket.find('.') == std::string::npos;
  const std::string style = http::option_of(options, "virtual_hosted_style_request");
  if (!style.empty()) {
    PENSTOCK_ASSIGN(place.virtual_style, parse_switch(style, "virtual_hosted_style_request"));
  }
  place.scheme = "https";
  if (endpoint.empty()) return place;
  const Result<http::Url> given = http::parse_url(endpoint);
  if (!given)
    return Error(ErrorCode::invalid_argument, "option endpoint: " + given.error().message())
        .set_hint("a URL with http:// or https:// at its begin, as https://minio.example:9000");
  const http::Url& parsed = *given;
  if (!parsed.user_password.empty() || !parsed.query.empty())
    return Error(ErrorCode::invalid_argument, "option endpoint: " + endpoint + ": only scheme, host, port and path");
  place.scheme = parsed.scheme;
  place.host = parsed.host;
  place.path = parsed.path;
  return place;
}

/// For people: who serves the bucket, and whose credentials sign.
std::string described(const Place& place, const Settings& settings) {
  std::string text = "S3 at ";
  text += place.host.empty() ? "Amazon's servers" : place.scheme + "://" + place.host + place.path;
  text += settings.region.empty() ? ", region as answers tell it"
                                  : ", region " + settings.region + " (" + settings.region_from + ")";
  text += settings.credentials ? ", signed by " : ", not signed: ";
  return text + settings.credentials_from;
}

}  // namespace

std::span<const StoreOptionName> s3_options() { return kOptions; }

Result<std::shared_ptr<Store>> open_s3_store(const StoreUrl& url, StoreMode mode, const StoreOptions& options) {
  PENSTOCK_ASSIGN(const Settings settings, find_settings(options));
  PENSTOCK_ASSIGN(const http::Patience patience, http::patience_of(options));
  PENSTOCK_ASSIGN(Place place, place_of(url, options, settings.endpoint));
  const std::string path_taken = described(place, settings);
  auto origin = std::make_shared<const S3Origin>(std::move(place), settings, patience);
  std::string shown = origin->where("");
  return std::shared_ptr<Store>(
      std::make_shared<S3Store>(std::move(origin), std::move(shown), path_taken, options, mode != StoreMode::read));
}

}  // namespace penstock::s3
