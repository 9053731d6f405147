#include "io/pool.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <thread>

namespace penstock::io {
namespace {

constexpr std::uint64_t kMaxThreads = 256;

std::array<std::atomic<Pool*>, 2> of_process{};  // host, devices

bool is_small_read(const Order& order) {
  return order.direction == Direction::read && order.bytes <= kSmallBytes && order.in_one_piece();
}

/// Whether a thread that has a piece of `first` may take all of `more` as well.
bool joins(const Order& first, const Order& more) {
  return is_small_read(first) && is_small_read(more) && first.device == more.device;
}

}  // namespace

Pool& Pool::of(Device device) {
  // Never destroyed: its threads live as long as the process.  A child has none of them, and its parent's locks may be
  // held by threads that are not here.
  static const int watched = ::pthread_atfork(nullptr, nullptr, [] {
    for (auto& pool : of_process) pool.store(nullptr);
  });
  (void)watched;
  std::atomic<Pool*>& mine = of_process[device.type == Device::Type::cpu ? 0 : 1];
  Pool* pool = mine.load(std::memory_order_acquire);
  if (pool != nullptr) return *pool;
  auto made = std::unique_ptr<Pool>(new Pool);
  if (mine.compare_exchange_strong(pool, made.get())) return *made.release();
  return *pool;
}

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
  bool here = false;
  {
    const std::scoped_lock lock(mutex_);
    ++requests_;
    const std::uint64_t most = std::min(kMaxThreads, request->order().threads);
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
  const auto tell = [&](std::span<Ended> some) {
    for (Ended& ended : some) last = request->ended(std::move(ended.status), ended.seconds);
  };
  while (request->has_more()) {
    Piece piece = request->claim(request);
    worker.run({&piece, 1}, tell);
    request->let_go();
  }
  while (worker.settle(tell)) {
  }
  if (last) request->conclude();
}

void Pool::wait_idle() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return requests_ == 0; });
}

void Pool::take(std::unique_lock<std::mutex>& lock, Worker& worker, std::vector<Piece>& pieces) {
  // Memory that may be needed again at once is kept for so long.
  constexpr std::chrono::milliseconds kKeep{20};
  while (queue_.empty()) {
    lock.unlock();
    const bool settled = worker.settle([&](std::span<Ended> ended) { tell(ended); });
    lock.lock();
    if (settled || !queue_.empty()) continue;
    ++waiting_;
    if (!changed_.wait_for(lock, kKeep, [&] { return !queue_.empty(); })) {
      lock.unlock();
      worker.release();
      lock.lock();
      changed_.wait(lock, [&] { return !queue_.empty(); });
    }
    --waiting_;
  }
  // Of many small requests a thread takes so few that others find some too.
  const std::size_t most = std::min<std::size_t>(kMaxBatch, 1 + queue_.size() / (2 * threads_));
  const std::shared_ptr<Request> first = queue_.front();
  std::uint64_t room = first->order().slot_bytes > 0 ? first->order().slot_bytes : kBatchBytes;
  do {
    const std::shared_ptr<Request> request = queue_.front();
    pieces.push_back(request->claim(request));
    room -= std::min(room, slot_bytes_of(pieces.back().bytes));
    // One that is full comes back when a thread is done with one of its pieces.
    if (!request->has_room()) queue_.pop_front();
  } while (pieces.size() < most && !queue_.empty() && joins(first->order(), queue_.front()->order()) &&
           slot_bytes_of(queue_.front()->order().bytes) <= room);
}

void Pool::work(Worker& worker) {
  std::vector<Piece> pieces;
  pieces.reserve(kMaxBatch);
  std::unique_lock lock(mutex_);
  for (;;) {
    take(lock, worker, pieces);
    lock.unlock();
    const std::shared_ptr<Request> first = pieces.front().request;  // small ones have only one piece
    worker.run(pieces, [&](std::span<Ended> ended) { tell(ended); });
    pieces.clear();
    lock.lock();
    let_go(first);
  }
}

void Pool::let_go(const std::shared_ptr<Request>& request) {
  const bool was_queued = request->has_room();
  request->let_go();
  if (!was_queued && request->has_room()) queue_.push_front(request);  // this thread takes the next piece
}

void Pool::tell(std::span<Ended> all) {
  std::uint64_t over = 0;
  {
    const std::scoped_lock lock(mutex_);
    for (Ended& one : all) {
      const std::shared_ptr<Request>& request = one.piece.request;
      const bool was_queued = request->has_room();
      const bool last = request->ended(std::move(one.status), one.seconds);
      if (was_queued && !request->has_room()) queue_.erase(std::find(queue_.begin(), queue_.end(), request));
      if (last)
        ++over;
      else
        one.piece.request.reset();
    }
  }
  if (over == 0) return;
  for (Ended& one : all)
    if (one.piece.request) one.piece.request->conclude();
  const std::scoped_lock lock(mutex_);
  requests_ -= over;
  if (requests_ == 0) idle_.notify_all();
}

}  // namespace penstock::io
