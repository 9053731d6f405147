#include "tracto/run/pump.hpp"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "core/checked.hpp"
#include "core/guard.hpp"

namespace penstock::tracto {
namespace {

class Pump {
 public:
  Pump(Job& job, const SeedRange& seeds, std::size_t trackers)
      : job_(job), seeds_(seeds), chunks_(div_up(seeds.count, seeds.chunk)), window_(trackers + 1) {}

  /// The work of one tracker's thread.
  void track(Tracker& tracker) {
    for (;;) {
      std::uint64_t number = 0;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ended_ || next_ >= chunks_ || next_ < taken_ + window_; });
        if (ended_ || next_ >= chunks_) return;
        number = next_++;
      }
      Result<std::vector<Streamlines>> made =
          guarded([&] { return tracker.chunk(job_, seeds_.first + number * seeds_.chunk, count_of(number)); });
      const bool failed = !made;
      const std::scoped_lock lock(mutex_);
      done_.emplace(number, std::move(made));
      ended_ = ended_ || failed;  // those before it are still on their way
      changed_.notify_all();
    }
  }

  Status take_all(const std::function<Status(std::vector<Streamlines>, std::uint64_t)>& take) {
    for (std::uint64_t number = 0; number < chunks_; ++number) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return done_.contains(number) || (ended_ && number >= next_); });
      if (!done_.contains(number)) return first_error();
      Result<std::vector<Streamlines>> made = std::move(done_.at(number));
      done_.erase(number);
      lock.unlock();
      if (!made) return std::move(made).error();
      PENSTOCK_TRY(take(*std::move(made), count_of(number)));
      lock.lock();
      ++taken_;
      changed_.notify_all();
    }
    return {};
  }

  void end() {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }

 private:
  [[nodiscard]] std::uint64_t count_of(std::uint64_t number) const {
    return std::min(seeds_.chunk, seeds_.count - number * seeds_.chunk);
  }
  /// Of the chunks that wait; one has it.
  Status first_error() {
    for (auto& [number, made] : done_)
      if (!made) return std::move(made).error();
    return Error(ErrorCode::internal, "a chunk was lost");
  }

  Job& job_;
  SeedRange seeds_;
  std::uint64_t chunks_, window_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, Result<std::vector<Streamlines>>> done_;
  std::uint64_t next_ = 0, taken_ = 0;
  bool ended_ = false;
};

}  // namespace

Status pump(Job& job, std::span<const std::unique_ptr<Tracker>> trackers, const SeedRange& seeds,
            const std::function<Status(std::vector<Streamlines>, std::uint64_t)>& take) {
  Pump work(job, seeds, trackers.size());
  std::vector<std::jthread> threads;
  for (const auto& tracker : trackers) threads.emplace_back([&work, &tracker] { work.track(*tracker); });
  const Status status = guarded([&] { return work.take_all(take); });
  work.end();
  return status;
}

}  // namespace penstock::tracto
