// The threads that all requests of the process share: some for memory of the host, others for that of devices.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "io/request.hpp"
#include "io/worker.hpp"

namespace penstock::io {

/// A request that one core is done with in the time that it takes to wake another.
inline constexpr std::uint64_t kSmallBytes = std::uint64_t{1} << 18;
/// Most bytes of small requests that a thread takes at a time.
inline constexpr std::uint64_t kBatchBytes = std::uint64_t{1} << 20;

class Pool {
 public:
  /// Of this process, for requests of this kind of memory.  After a fork the child has pools of its own.  Those who
  /// move memory of the host never wait for a device.
  static Pool& of(Device device);

  /// Starts a request with at least one piece.
  void submit(const std::shared_ptr<Request>& request);
  /// Moves a request's pieces in the calling thread.
  static void run_here(const std::shared_ptr<Request>& request);
  /// Waits until no request is under way.
  void wait_idle();

 private:
  Pool() = default;
  bool start_thread();
  void work(Worker& worker);
  /// Takes the next piece, or several small requests, into `pieces`.
  void take(std::unique_lock<std::mutex>& lock, Worker& worker, std::vector<Piece>& pieces);
  void let_go(const std::shared_ptr<Request>& request);
  void tell(std::span<Ended> ended);

  std::mutex mutex_;
  std::condition_variable changed_, idle_;
  std::deque<std::shared_ptr<Request>> queue_;  ///< those that have room
  std::uint64_t threads_ = 0, waiting_ = 0, requests_ = 0;
};

}  // namespace penstock::io
