#include "io/pool.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>

namespace penstock::io {
namespace {

constexpr std::uint64_t kMaxThreads = 256;

std::atomic<Pool*>& of_process() {
  static std::atomic<Pool*> pool{nullptr};
  return pool;
}

}  // namespace

Pool& Pool::get() {
  // Never destroyed: its threads live as long as the process.  A child has none of them, and its parent's locks may be
  // held by threads that are not here.
  static const int watched = ::pthread_atfork(nullptr, nullptr, [] { of_process().store(nullptr); });
  (void)watched;
  Pool* pool = of_process().load(std::memory_order_acquire);
  if (pool != nullptr) return *pool;
  auto made = std::unique_ptr<Pool>(new Pool);
  if (of_process().compare_exchange_strong(pool, made.get())) return *made.release();
  return *pool;
}

bool Pool::start_thread() {
  try {
    std::thread([this] { work(); }).detach();
  } catch (const std::system_error&) {  // the system has no more: those that there are do it all
    return false;
  }
  ++threads_;
  return true;
}

void Pool::submit(const std::shared_ptr<Request>& request) {
  const std::uint64_t wanted = std::min({request->pieces(), request->order().at_once, kMaxThreads});
  bool here = false;
  {
    const std::scoped_lock lock(mutex_);
    ++requests_;
    const std::uint64_t most = std::min(kMaxThreads, request->order().at_once);
    for (std::uint64_t ready = waiting_; ready < wanted && threads_ < most && start_thread(); ++ready) {
    }
    here = threads_ == 0;
    if (!here) queue_.push_back(request);
  }
  if (here) {
    run_here(request);
    const std::scoped_lock lock(mutex_);
    if (--requests_ == 0) idle_.notify_all();
    return;
  }
  if (wanted == 1)
    changed_.notify_one();
  else
    changed_.notify_all();
}

void Pool::run_here(const std::shared_ptr<Request>& request) {
  Worker worker;
  bool last = false;
  const auto tell = [&](Ended ended) { last = request->ended(std::move(ended.status), ended.seconds); };
  while (request->has_more()) worker.run(request->claim(request), tell);
  while (worker.settle(tell)) {
  }
  if (last) request->conclude();
}

void Pool::wait_idle() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return requests_ == 0; });
}

std::optional<Piece> Pool::take(std::unique_lock<std::mutex>& lock, Worker& worker) {
  while (queue_.empty()) {
    lock.unlock();
    const bool settled = worker.settle([&](Ended ended) { tell(std::move(ended)); });
    if (!settled) worker.release();
    lock.lock();
    if (settled || !queue_.empty()) continue;
    ++waiting_;
    changed_.wait(lock, [&] { return !queue_.empty(); });
    --waiting_;
  }
  const std::shared_ptr<Request> request = queue_.front();
  Piece piece = request->claim(request);
  // One that is full comes back when one of its pieces has ended.
  if (!request->has_more() || request->active() >= request->order().at_once) queue_.pop_front();
  return piece;
}

void Pool::work() {
  Worker worker;
  std::unique_lock lock(mutex_);
  for (;;) {
    std::optional<Piece> piece = take(lock, worker);
    lock.unlock();
    worker.run(*std::move(piece), [&](Ended ended) { tell(std::move(ended)); });
    lock.lock();
  }
}

void Pool::tell(Ended ended) {
  const std::shared_ptr<Request> request = std::move(ended.piece.request);
  bool last = false;
  {
    const std::scoped_lock lock(mutex_);
    const bool had_more = request->has_more();
    const bool is_queued = had_more && request->active() < request->order().at_once;
    last = request->ended(std::move(ended.status), ended.seconds);
    if (had_more && !is_queued && request->has_more()) {
      queue_.push_front(request);
      changed_.notify_one();
    }
    if (is_queued && !request->has_more()) queue_.erase(std::find(queue_.begin(), queue_.end(), request));
  }
  if (!last) return;
  request->conclude();
  const std::scoped_lock lock(mutex_);
  if (--requests_ == 0) idle_.notify_all();
}

}  // namespace penstock::io
