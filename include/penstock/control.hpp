// Cancelling and watching long work.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

namespace penstock {

/// Shared flag that asks running work to stop.  Copies refer to the same flag.  Safe to set from a signal handler.
class CancelToken {
 public:
  CancelToken() : flag_(std::make_shared<std::atomic<bool>>(false)) {}
  void cancel() const { flag_->store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool cancelled() const { return flag_->load(std::memory_order_relaxed); }

 private:
  std::shared_ptr<std::atomic<bool>> flag_;
};

/// State of long work, in bytes of decoded data.
struct Progress {
  std::string_view what;  ///< "read", "write", "copy", "verify", ...
  std::uint64_t done_bytes = 0;
  std::uint64_t total_bytes = 0;
};
/// Called from worker threads, one at a time, at most every 50 ms and once at the end.
using ProgressFn = std::function<void(const Progress&)>;

}  // namespace penstock
