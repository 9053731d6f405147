// The threads that all requests of the process share.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "io/request.hpp"
#include "io/worker.hpp"

namespace penstock::io {

class Pool {
 public:
  /// Of this process: after a fork the child has one of its own.
  static Pool& get();

  /// Starts a request with at least one piece.
  void submit(const std::shared_ptr<Request>& request);
  /// Moves a request's pieces in the calling thread.
  static void run_here(const std::shared_ptr<Request>& request);
  /// Waits until no request is under way.
  void wait_idle();

 private:
  Pool() = default;
  bool start_thread();
  void work();
  std::optional<Piece> take(std::unique_lock<std::mutex>& lock, Worker& worker);
  void tell(Ended ended);

  std::mutex mutex_;
  std::condition_variable changed_, idle_;
  std::deque<std::shared_ptr<Request>> queue_;  ///< with pieces that may be taken now
  std::uint64_t threads_ = 0, waiting_ = 0, requests_ = 0;
};

}  // namespace penstock::io
