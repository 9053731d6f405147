#include "io/pool.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

namespace penstock::io {
namespace {

using Clock = std::chrono::steady_clock;

/// To wake a thread takes about so long.
constexpr std::chrono::microseconds kSpin{50};
/// Memory that may be needed again at once is kept for so long.
constexpr std::chrono::milliseconds kKeep{20};

/// Threads that may look for more at a time; the submitting one needs a core, too.
std::uint64_t max_spinners() {
  static const std::uint64_t most = std::clamp(std::thread::hardware_concurrency(), 1U, 4U) - 1;
  return most;
}

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

bool Pool::start_thread() {
  try {
    std::thread([this, worker = std::make_unique<Worker>()] { work(*worker); }).detach();
  } catch (const std::exception&) {  // the system has no more: those that there are do it all
    return false;
  }
  ++threads_;
  return true;
}

void Pool::submit(const std::shared_ptr<Request>& request) {
  const std::uint64_t wanted = std::min({request->pieces(), request->order().threads, kMaxThreads});
  bool here = false, is_seen = false;
  {
    const std::scoped_lock lock(mutex_);
    ++requests_;
    const std::uint64_t most = std::min(kMaxThreads, request->order().threads);
    for (std::uint64_t ready = waiting_ + spinning_; ready < wanted && threads_ < most && start_thread(); ++ready) {
    }
    here = threads_ == 0;
    if (!here) queue_.push_back(request);
    ++queued_;
    is_seen = wanted <= spinning_;  // they look for it, and wake others where there is more
  }
  if (here) {
    run_here(request);
    const std::scoped_lock lock(mutex_);
    if (--requests_ == 0) idle_.notify_all();
    return;
  }
  if (is_seen) return;
  if (wanted == 1)
    changed_.notify_one();
  else
    changed_.notify_all();
}

void Pool::run_here(const std::shared_ptr<Request>& request) {
  Worker worker;
  bool last = false;
  while (request->has_more()) {
    const Piece piece = request->claim(request);
    const auto start = Clock::now();
    Status status = worker.move(piece);
    last = request->ended(std::move(status), since(start));
  }
  if (last) request->conclude();
}

void Pool::wait_idle() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return requests_ == 0; });
}

void Pool::spin(std::unique_lock<std::mutex>& lock) {
  const std::uint64_t seen = queued_;
  ++spinning_;
  lock.unlock();
  for (const auto until = Clock::now() + kSpin; queued_ == seen && Clock::now() < until;) std::this_thread::yield();
  lock.lock();
  --spinning_;
}

void Pool::sleep(std::unique_lock<std::mutex>& lock, Worker& worker) {
  ++waiting_;
  if (!changed_.wait_for(lock, kKeep, [&] { return !queue_.empty(); })) {
    lock.unlock();
    worker.release();
    lock.lock();
    changed_.wait(lock, [&] { return !queue_.empty(); });
  }
  --waiting_;
}

Piece Pool::take(std::unique_lock<std::mutex>& lock, Worker& worker) {
  if (queue_.empty() && spinning_ < max_spinners()) spin(lock);
  while (queue_.empty()) sleep(lock, worker);
  const std::shared_ptr<Request> request = queue_.front();
  Piece piece = request->claim(request);
  request->hold();
  if (!request->has_room()) queue_.pop_front();  // it comes back when a thread is done with one of its pieces
  if (!queue_.empty() && waiting_ > 0 && spinning_ == 0) changed_.notify_one();
  return piece;
}

void Pool::work(Worker& worker) {
  std::unique_lock lock(mutex_);
  for (;;) {
    const Piece piece = take(lock, worker);
    lock.unlock();
    const auto start = Clock::now();
    Status status = worker.move(piece);
    const double seconds = since(start);
    lock.lock();
    if (!end(piece.request, std::move(status), seconds)) continue;
    lock.unlock();
    piece.request->conclude();
    lock.lock();
    if (--requests_ == 0) idle_.notify_all();
  }
}

bool Pool::end(const std::shared_ptr<Request>& request, Status status, double seconds) {
  const bool was_queued = request->has_room();
  request->let_go();
  const bool last = request->ended(std::move(status), seconds);
  if (was_queued && !request->has_room()) queue_.erase(std::find(queue_.begin(), queue_.end(), request));
  if (!was_queued && request->has_room()) {
    queue_.push_front(request);  // this thread takes the next piece
    ++queued_;
  }
  return last;
}

}  // namespace penstock::io
