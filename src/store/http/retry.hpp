// When a request is tried again.
#pragma once
#include <chrono>
#include <optional>
#include <string_view>

namespace penstock::http {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// How long is waited for whom.
struct Patience {
  milliseconds deadline{60'000};  ///< for all attempts of a request, from when the first one is sent
  milliseconds silence{10'000};   ///< a connection that brings nothing for so long is given up
  int max_attempts = 10;
  int max_unreachable = 3;  ///< attempts that reach no server, when none did: a name that is wrong stays wrong
};

/// Whether an answer of this status may be another one next time.
bool is_passing(int status);
/// "Retry-After: 3" or a date; nullopt when it is neither.
std::optional<milliseconds> parse_retry_after(std::string_view text);

/// The attempts of one request.
class Attempts {
 public:
  explicit Attempts(const Patience& patience) : patience_(patience) {}
  void begin(Clock::time_point now);
  /// An attempt that brought bytes of a body: the next ones count anew, the deadline stays.
  void progress() { in_a_row_ = 0; }
  /// How long to wait before the next one, with jitter; nullopt: there is none.
  [[nodiscard]] std::optional<milliseconds> pause(Clock::time_point now, bool unreachable,
                                                  std::optional<milliseconds> retry_after);
  [[nodiscard]] int made() const { return made_; }
  [[nodiscard]] milliseconds since_first(Clock::time_point now) const;
  /// Until the deadline; at least 1 ms.
  [[nodiscard]] milliseconds left(Clock::time_point now) const;

 private:
  Patience patience_;
  Clock::time_point first_{};
  int made_ = 0;
  int in_a_row_ = 0;
  int unreachable_ = 0;
};

}  // namespace penstock::http
