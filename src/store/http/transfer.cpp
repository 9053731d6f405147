#include "store/http/transfer.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "core/guard.hpp"
#include "core/units.hpp"
#include "store/http/certificates.hpp"

namespace penstock::http {
namespace {

constexpr std::size_t kMaxHeadBytes = 128 << 10;
constexpr long kReceiveBytes = 256 << 10;  // less often woken for large objects

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return text;
}

std::string seconds_text(milliseconds time) { return format_seconds(static_cast<double>(time.count()) / 1000); }

bool is_unreachable(CURLcode code) {
  return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY || code == CURLE_COULDNT_CONNECT;
}

bool is_certificate(CURLcode code) {
  return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE || code == CURLE_SSL_CERTPROBLEM ||
         code == CURLE_SSL_ISSUER_ERROR || code == CURLE_SSL_INVALIDCERTSTATUS;
}

/// What a proxy answered when it was asked for a way to the server; 0: nothing.
bool is_refused_by_proxy(long status) { return status >= 300; }
bool is_refused_for_good(long status) { return is_refused_by_proxy(status) && !is_passing(static_cast<int>(status)); }

bool is_lasting(CURLcode code) {
  return is_certificate(code) || code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_URL_MALFORMAT ||
         code == CURLE_OUT_OF_MEMORY || code == CURLE_FAILED_INIT || code == CURLE_NOT_BUILT_IN ||
         code == CURLE_WEIRD_SERVER_REPLY || code == CURLE_UNKNOWN_OPTION || code == CURLE_BAD_FUNCTION_ARGUMENT;
}

}  // namespace

void Transfer::set_up() {
  CURL* easy = easy_.get();
  curl_easy_reset(easy);  // keeps its connections
  const Patience& patience = exchange_->patience();
  curl_easy_setopt(easy, CURLOPT_PRIVATE, this);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_URL, request_.url.c_str());
  curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);  // what is signed is what is sent
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);  // many connections are faster than one
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);                   // who follows must sign anew
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, kReceiveBytes);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);  // what a proxy says is not the server's answer
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(attempts_.left(Clock::now()).count()));
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(patience.silence.count()));
  const std::string& ca_file = request_.ca_file.empty() ? certificate_file() : request_.ca_file;
  if (!ca_file.empty()) curl_easy_setopt(easy, CURLOPT_CAINFO, ca_file.c_str());
  if (request_.method == "PUT" || request_.method == "POST") {
    std::uint64_t size = 0;
    for (const ByteView part : request_.body) size += part.size();
    curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(size));
    curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_upload);
    curl_easy_setopt(easy, CURLOPT_READDATA, this);
    curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_seek);
    curl_easy_setopt(easy, CURLOPT_SEEKDATA, this);
  }
  if (request_.method != "GET") curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request_.method.c_str());
}

Status Transfer::begin(Easy easy) {
  easy_ = std::move(easy);
  last_ = Clock::now();
  attempts_.begin(last_);
  head_ = Head();
  head_bytes_ = part_ = part_at_ = 0;
  told_ = Status();
  brought_bytes_ = head_complete_ = sent_twice_ = false;
  PENSTOCK_ASSIGN(request_, exchange_->request());
  set_up();
  fields_.reset();
  PENSTOCK_TRY(add_field("Expect:"));                    // a body is sent at once, not after a round trip
  PENSTOCK_TRY(add_field("Accept-Encoding: identity"));  // the bytes as they are: without it a proxy may pack them
  for (const Header& field : request_.headers)
    // "Name;" is how libcurl is told of a field without a value.
    PENSTOCK_TRY(add_field(field.value.empty() ? field.name + ";" : field.name + ": " + field.value));
  curl_easy_setopt(easy_.get(), CURLOPT_HTTPHEADER, fields_.get());
  return {};
}

Status Transfer::add_field(const std::string& line) {
  curl_slist* const more = curl_slist_append(fields_.get(), line.c_str());
  if (more == nullptr) return Error(ErrorCode::out_of_memory, "out of memory");
  (void)fields_.release();
  fields_.reset(more);
  return {};
}

std::size_t Transfer::on_header(char* data, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  transfer.last_ = Clock::now();
  return transfer.take_header({data, size * count}) ? size * count : 0;
}

bool Transfer::take_header(std::string_view line) {
  head_bytes_ += line.size();
  if (head_bytes_ > kMaxHeadBytes) {
    told_ = Error(ErrorCode::io_error, "the head of the answer is too large");
    return false;
  }
  told_ = guarded([&]() -> Status {
    if (line.starts_with("HTTP/")) {
      head_ = Head();
      const std::size_t blank = std::min(line.find(' '), line.size());
      head_.status = std::atoi(std::string(line.substr(blank)).c_str());
      return {};
    }
    const std::string_view text = trimmed(line);
    if (text.empty()) {
      if (head_.status < 200 || head_complete_) return {};  // an interim answer; a trailer
      head_complete_ = true;
      return exchange_->head(head_);
    }
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos || head_complete_) return {};
    std::string name(text.substr(0, colon));
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    head_.fields.insert_or_assign(std::move(name), std::string(trimmed(text.substr(colon + 1))));
    return {};
  });
  return told_.has_value();
}

std::size_t Transfer::on_body(char* data, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  transfer.last_ = Clock::now();
  const ByteView bytes = std::as_bytes(std::span(data, size * count));
  transfer.told_ = guarded([&] { return transfer.exchange_->body(bytes); });
  if (!transfer.told_) return CURL_WRITEFUNC_ERROR;
  transfer.brought_bytes_ = true;
  return bytes.size();
}

std::size_t Transfer::on_upload(char* into, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  transfer.last_ = Clock::now();
  std::size_t room = size * count, done = 0;
  while (room > 0 && transfer.part_ < transfer.request_.body.size()) {
    const ByteView part = transfer.request_.body[transfer.part_];
    const std::size_t now = std::min(room, part.size() - transfer.part_at_);
    if (now > 0) std::memcpy(into + done, part.data() + transfer.part_at_, now);
    done += now;
    room -= now;
    transfer.part_at_ += now;
    if (transfer.part_at_ < part.size()) break;
    ++transfer.part_;
    transfer.part_at_ = 0;
  }
  return done;
}

int Transfer::on_seek(void* self, curl_off_t offset, int origin) {
  auto& transfer = *static_cast<Transfer*>(self);
  if (offset != 0 || origin != SEEK_SET) return CURL_SEEKFUNC_CANTSEEK;
  transfer.sent_twice_ = transfer.sent_twice_ || transfer.part_ > 0 || transfer.part_at_ > 0;
  transfer.part_ = transfer.part_at_ = 0;
  return CURL_SEEKFUNC_OK;
}

/// libcurl's own texts, which hold no URL.
Status Transfer::transport_error(CURLcode code, long proxy_status) const {
  if (code == CURLE_OK) return {};
  if (!told_) return told_;
  const std::string why = curl_easy_strerror(code);
  constexpr const char* kProxyHint =
      "the proxy is that of HTTPS_PROXY, ALL_PROXY or http_proxy; NO_PROXY names the hosts that go without one";
  if (code == CURLE_COULDNT_RESOLVE_PROXY) return Error(ErrorCode::io_error, why).set_hint(kProxyHint);
  if (is_refused_by_proxy(proxy_status))
    return Error(ErrorCode::io_error,
                 "the proxy answers " + std::to_string(proxy_status) + " when it is asked for the server")
        .set_hint(kProxyHint);
  if (is_certificate(code)) {
    return Error(ErrorCode::io_error, "TLS: the server's certificate was not accepted (" + why + ")")
        .set_hint("option ca_file, or SSL_CERT_FILE, names the certificates to trust; checks cannot be switched off");
  }
  if (code == CURLE_OPERATION_TIMEDOUT) {
    const Clock::time_point now = Clock::now();
    const bool deadline = attempts_.since_first(now) >= exchange_->patience().deadline - milliseconds(5);
    return Error(ErrorCode::timed_out,
                 deadline ? "the request's time is over"
                          : "the connection brought nothing for " + seconds_text(exchange_->patience().silence));
  }
  return Error(ErrorCode::io_error, why);
}

Error Transfer::given_up(Error error, Clock::time_point now, std::optional<milliseconds> retry_after) const {
  const milliseconds deadline = exchange_->patience().deadline, spent = attempts_.since_first(now);
  std::string text = error.message(), hint = error.hint();
  if (retry_after && spent + *retry_after >= deadline) {
    text += "; it asks to be left alone for " + seconds_text(*retry_after) + ", which goes beyond the deadline of " +
            seconds_text(deadline);
    hint = "option deadline gives a request more time (now " + seconds_text(deadline) + ")";
  }
  if (attempts_.made() > 1)
    text += " (given up after " + std::to_string(attempts_.made()) + " attempts in " + seconds_text(spent) + ")";
  return Error(error.code(), std::move(text)).set_hint(std::move(hint)).set_errno(error.system_errno());
}

std::optional<Clock::time_point> Transfer::end(CURLcode code, Easy& easy) {
  easy = std::move(easy_);
  long proxy_status = 0;
  (void)curl_easy_getinfo(easy.get(), CURLINFO_HTTP_CONNECTCODE, &proxy_status);
  head_.sent_twice = sent_twice_;
  if (code != CURLE_OK && head_complete_ && brought_bytes_) attempts_.progress();
  auto next = guarded([&]() -> Result<Next> {
    return exchange_->ended({head_, transport_error(code, proxy_status), is_unreachable(code),
                             is_lasting(code) || (code != CURLE_OK && is_refused_for_good(proxy_status))});
  });
  const Clock::time_point now = Clock::now();
  if (!next) {
    over(std::move(next).error());
    return std::nullopt;
  }
  if (next->kind == Next::Kind::over) {
    over(std::move(next->status));
    return std::nullopt;
  }
  if (next->kind == Next::Kind::at_once) return now;
  if (!is_lasting(code))
    if (const auto pause = attempts_.pause(now, is_unreachable(code), next->retry_after)) return now + *pause;
  over(given_up(std::move(next->status).error(), now, next->retry_after));
  return std::nullopt;
}

}  // namespace penstock::http
