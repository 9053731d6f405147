// The threads that all requests for memory of the host share.  They never wait for a device.
//
// A thread that has nothing to do looks for more for a while before it falls asleep: to wake one costs who submits more
// than a small request does.  Who takes a piece while there are more wakes the next one, so that it is not who submits.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "io/request.hpp"
#include "io/worker.hpp"

namespace penstock::io {

/// Most threads of a pool.
inline constexpr std::uint64_t kMaxThreads = 256;

class Pool {
 public:
  /// Starts a request with at least one piece.
  void submit(const std::shared_ptr<Request>& request);
  /// Moves a request's pieces in the calling thread.
  static void run_here(const std::shared_ptr<Request>& request);
  /// Waits until no request is under way.
  void wait_idle();

 private:
  bool start_thread();
  void work(Worker& worker);
  Piece take(std::unique_lock<std::mutex>& lock, Worker& worker);
  /// Looks for more for a while, without the lock.
  void spin(std::unique_lock<std::mutex>& lock);
  void sleep(std::unique_lock<std::mutex>& lock, Worker& worker);
  /// The end of a piece; true: and of its request.
  bool end(const std::shared_ptr<Request>& request, Status status, double seconds);

  std::mutex mutex_;
  std::condition_variable changed_, idle_;
  std::deque<std::shared_ptr<Request>> queue_;  ///< those that have room
  std::atomic<std::uint64_t> queued_{0};        ///< how often something was put there; changed with the mutex
  std::uint64_t threads_ = 0, waiting_ = 0, spinning_ = 0, requests_ = 0;
};

}  // namespace penstock::io
