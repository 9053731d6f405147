// The one thread of the process that talks HTTP: many requests under way, over connections that are kept.
#pragma once
#include <memory>
#include <optional>

#include "penstock/control.hpp"
#include "penstock/error.hpp"
#include "store/http/message.hpp"
#include "store/http/retry.hpp"

namespace penstock::http {

/// How an attempt ended.
struct Ended {
  const Head& head;
  Status transport;          ///< an error: no complete answer came
  bool unreachable = false;  ///< no server was reached
  bool lasting = false;      ///< trying again is of no use (the certificate is not accepted)
};

/// What follows an attempt.
struct Next {
  enum class Kind : std::uint8_t {
    over,    ///< the exchange ends with `status`
    again,   ///< another attempt after a pause, unless patience is at its end: then it ends with `status`
    at_once  ///< another attempt without a pause: the request is another one now.  The exchange bounds how often.
  };
  Kind kind = Kind::over;
  Status status;
  std::optional<milliseconds> retry_after = {};
};

/// A request and what becomes of its answer.  All members are called by the client's thread, one at a time, and must be
/// quick.
class Exchange {
 public:
  Exchange(CancelToken cancel, const Patience& patience) : cancel_(std::move(cancel)), patience_(patience) {}
  virtual ~Exchange() = default;
  /// The request of the next attempt, signed anew.  Errors end the exchange.
  virtual Result<Request> request() = 0;
  /// The head is complete; its body follows.  Errors end the attempt, as those of body().
  virtual Status head(const Head& head) = 0;
  virtual Status body(ByteView bytes) = 0;
  virtual Next ended(const Ended& ended) = 0;
  /// Called once, last.
  virtual void over(Status status) = 0;
  /// What stands for its server where it brings a body; nullptr: it brings none worth counting.
  [[nodiscard]] virtual const void* server() const { return nullptr; }
  /// Of that body; nullopt: not known before the answer.
  [[nodiscard]] virtual std::optional<std::uint64_t> expected_bytes() const { return std::nullopt; }

  [[nodiscard]] const CancelToken& cancel() const { return cancel_; }
  [[nodiscard]] const Patience& patience() const { return patience_; }

 private:
  CancelToken cancel_;
  Patience patience_;
};

/// Most requests under way at once, of the process; others wait.
inline constexpr std::size_t kMaxUnderWay = 64;

/// Carries it out, and returns at once.  Errors: those of starting a thread; `exchange` was not told then.
Status submit(std::unique_ptr<Exchange> exchange);

}  // namespace penstock::http
