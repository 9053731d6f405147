#include "store/http/http_store.hpp"

#include "store/http/remote_store.hpp"
#include "store/http/url.hpp"
#include "store/key.hpp"

namespace penstock::http {
namespace {

constexpr int kMaxRedirects = 5;

constexpr StoreOptionName kOptions[] = {
    {"authorization", "value of the header Authorization: \"Bearer ...\"; goes to this host only"},
    {"ca_file", "certificates to trust (PEM); left out: those of the system"},
    {"deadline", "for a request with all its attempts; 60s"},
    {"silence", "after which a connection is given up; 10s"},
};

/// "user:password" as the field of a head has it.
std::string base64(std::string_view text) {
  constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k)
      bits = bits << 8 | (i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) out += i + k > text.size() ? '=' : kLetters[bits >> (18 - 6 * k) & 63];
  }
  return out;
}

class HttpOrigin final : public Origin {
 public:
  HttpOrigin(Url url, std::string shown, std::string authorization, std::string ca_file, const Patience& patience)
      : url_(std::move(url)),
        shown_(std::move(shown)),
        authorization_(std::move(authorization)),
        ca_file_(std::move(ca_file)),
        patience_(patience) {}

  Result<Request> request(std::string_view method, std::string_view key, std::vector<Header> headers,
                          std::vector<ByteView> body, const Detour& detour) const override {
    Request request{std::string(method), detour.url, std::move(headers), std::move(body), ca_file_};
    if (request.url.empty()) request.url = url_of(key);
    const auto target = parse_url(request.url);
    if (!target) return Error(ErrorCode::invalid_argument, where(key) + ": no URL can be made of this key");
    if (!authorization_.empty() && target->origin() == url_.origin())
      request.headers.push_back({"Authorization", authorization_});
    return request;
  }

  Next refused(const Head& head, std::string_view /*body*/, std::string_view key, Detour& detour) const override {
    if (head.status == 404 || head.status == 410) return {};
    if (head.status == 301 || head.status == 302 || head.status == 303 || head.status == 307 || head.status == 308)
      return follow(head, key, detour);
    if (is_passing(head.status)) return after_passing(head, where(key), "");
    return {Next::Kind::over, status_error(head, where(key), "")};
  }

  std::string where(std::string_view key) const override { return join_key(shown_, key); }
  const Patience& patience() const override { return patience_; }

 private:
  std::string url_of(std::string_view key) const {
    std::string text = url_.origin() + url_.path + "/" + escaped_path(key);
    return url_.query.empty() ? text : text + "?" + url_.query;
  }

  Next follow(const Head& head, std::string_view key, Detour& detour) const {
    const auto stop = [&](std::string why) {
      return Next{Next::Kind::over, Error(ErrorCode::io_error, where(key) + ": " + std::move(why))};
    };
    if (++detour.count > kMaxRedirects) return stop("more than " + std::to_string(kMaxRedirects) + " redirects");
    const std::string location(head.field("location"));
    if (location.empty()) return stop("the server redirects and does not say where to");
    const std::string from = detour.url.empty() ? url_of(key) : detour.url;
    auto to = redirected(from, location);
    if (!to) return {Next::Kind::over, std::move(to.error().add_context(where(key)))};
    const auto target = parse_url(*to);
    if (!target) return stop("the server redirects to what is neither http:// nor https://");
    if (from.starts_with("https:") && target->scheme != "https")
      return stop("the server redirects from https:// to http://, which is not followed");
    detour.url = *std::move(to);
    return {Next::Kind::at_once, {}};
  }

  const Url url_;
  const std::string shown_;  ///< without secrets
  const std::string authorization_;
  const std::string ca_file_;
  const Patience patience_;
};

class HttpStore final : public RemoteStore {
 public:
  HttpStore(std::string url, std::shared_ptr<const Origin> origin, StoreOptions options)
      : RemoteStore(std::move(url), std::move(origin), std::move(options)) {}
  std::string path_taken() const override { return "HTTP/1.1, many requests under way"; }
  bool writable() const override { return false; }

  Result<std::vector<StoreEntry>> list_dir(std::string_view prefix) const override {
    PENSTOCK_TRY(check_prefix(prefix));
    return Error(ErrorCode::unsupported, join_key(url_, prefix) + ": HTTP does not tell which objects there are")
        .set_hint(
            "name an array, or have the group's metadata consolidated where it was written (penstock consolidate)");
  }
  Status set(std::string_view key, ByteView) override { return refuse(key); }
  Status erase(std::string_view key) override { return refuse(key); }
  Status erase_prefix(std::string_view prefix) override {
    PENSTOCK_TRY(check_prefix(prefix));
    return read_only_error(url_);
  }

 private:
  Status refuse(std::string_view key) const {
    PENSTOCK_TRY(check_key(key));
    return read_only_error(url_);
  }
};

}  // namespace

std::span<const StoreOptionName> http_options() { return kOptions; }

Result<std::shared_ptr<Store>> open_http_store(const StoreUrl& url, StoreMode mode, const StoreOptions& options) {
  const std::string text(url.text);
  if (mode != StoreMode::read)
    return Error(ErrorCode::unsupported, text + ": a web server is read from, not written to")
        .set_hint("object stores are written as s3://bucket/path, with the option endpoint");
  PENSTOCK_ASSIGN(Url parsed, parse_url(text));
  PENSTOCK_ASSIGN(const Patience patience, patience_of(options));
  std::string authorization = option_of(options, "authorization");
  if (authorization.empty() && !parsed.user_password.empty()) authorization = "Basic " + base64(parsed.user_password);
  if (authorization.find_first_of("\r\n") != std::string::npos)
    return Error(ErrorCode::invalid_argument, "option authorization: a line break in it");
  std::string shown = redacted(parsed.origin() + parsed.path);
  auto origin = std::make_shared<const HttpOrigin>(std::move(parsed), shown, std::move(authorization),
                                                   option_of(options, "ca_file"), patience);
  return std::shared_ptr<Store>(std::make_shared<HttpStore>(std::move(shown), std::move(origin), options));
}

}  // namespace penstock::http
