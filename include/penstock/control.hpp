// Steering, cancelling and watching long work.
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "penstock/api.hpp"
#include "penstock/error.hpp"

namespace penstock {

/// Shared flag that asks running work to stop.  Copies refer to the same flag.  Safe to set from a signal handler.
class PENSTOCK_API CancelToken {
 public:
  CancelToken() : flag_(std::make_shared<std::atomic<bool>>(false)) {}
  /// A token that nobody can set: what a call takes where it is given none.  Takes no memory.
  [[nodiscard]] static CancelToken never() noexcept { return CancelToken(nullptr); }
  void cancel() const {
    if (flag_) flag_->store(true, std::memory_order_relaxed);
  }
  [[nodiscard]] bool cancelled() const { return flag_ && flag_->load(std::memory_order_relaxed); }
  /// The same flag with a time after which `check` fails too.
  [[nodiscard]] CancelToken until(std::chrono::steady_clock::time_point deadline) const {
    CancelToken token(*this);
    token.deadline_ = deadline;
    return token;
  }
  /// Whether work may go on.  Errors: cancelled, timed_out, with what was under way ("read").
  [[nodiscard]] Status check(std::string_view what) const;

 private:
  explicit CancelToken(std::nullptr_t) noexcept {}
  std::optional<std::chrono::steady_clock::time_point> deadline_;
  std::shared_ptr<std::atomic<bool>> flag_;
};

/// Who runs the codecs of chunks on their way to or from a device, when the device could: `automatic` takes what is
/// quicker, `nvcomp` (decoding only) is the device, by nvCOMP as far as it can.
enum class CodecPlace : std::uint8_t { automatic, cpu, device, nvcomp };

/// State of long work.
struct Progress {
  std::string_view what;  ///< "read", "write", "copy", "verify", "track", ...
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  std::string_view unit = "B";  ///< what `done` and `total` count: bytes of decoded data, or "seeds", ...
  std::string_view more = {};   ///< what else has come of it so far ("1,234 streamlines"); may be empty
};
/// Called from worker threads, one at a time, at most every 50 ms and once at the end.
using ProgressFn = std::function<void(const Progress&)>;

}  // namespace penstock
