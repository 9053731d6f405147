#include "store/http/retry.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <string>

#include "core/backoff.hpp"

namespace penstock::http {

bool is_passing(int status) {
  return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
}

std::optional<milliseconds> parse_retry_after(std::string_view text) {
  constexpr std::int64_t kMaxSeconds = 1'000'000;
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size()) {
    const std::time_t date = curl_getdate(std::string(text).c_str(), nullptr);
    if (date < 0) return std::nullopt;
    seconds = std::int64_t{date} - std::int64_t{std::time(nullptr)};
  }
  return milliseconds(1000 * std::clamp<std::int64_t>(seconds, 0, kMaxSeconds));
}

void Attempts::begin(Clock::time_point now) {
  if (made_++ == 0) first_ = now;
  ++in_a_row_;
}

milliseconds Attempts::since_first(Clock::time_point now) const {
  return std::chrono::duration_cast<milliseconds>(now - first_);
}

milliseconds Attempts::left(Clock::time_point now) const {
  return std::max(milliseconds(1), patience_.deadline - since_first(now));
}

std::optional<milliseconds> Attempts::pause(Clock::time_point now, bool unreachable,
                                            std::optional<milliseconds> retry_after) {
  constexpr milliseconds kFirst{100}, kMost{10'000};
  unreachable_ = unreachable ? unreachable_ + 1 : 0;
  if (in_a_row_ >= patience_.max_attempts || unreachable_ >= patience_.max_unreachable) return std::nullopt;
  const milliseconds wait = std::max(backoff(in_a_row_, kFirst, kMost), retry_after.value_or(milliseconds(0)));
  if (since_first(now) + wait >= patience_.deadline) return std::nullopt;
  return wait;
}

}  // namespace penstock::http
