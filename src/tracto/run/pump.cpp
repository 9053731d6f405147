#include "tracto/run/pump.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "core/checked.hpp"
#include "core/guard.hpp"

namespace penstock::tracto {
namespace {

class Pump {
 public:
  Pump(Job& job, const SeedRange& seeds, const TakeChunk& take)
      : job_(job), seeds_(seeds), take_(take), chunks_(div_up(seeds.count, seeds.chunk)) {}

  /// The work of one tracker's thread.
  void track(Tracker& tracker) {
    std::vector<Streamlines> pieces;
    while (const std::optional<std::uint64_t> number = next()) {
      pieces.clear();
      Status made = guarded([&]() -> Status {
        PENSTOCK_ASSIGN(pieces, tracker.chunk(job_, seeds_.first + *number * seeds_.chunk, count_of(*number)));
        return {};
      });
      const std::unique_ptr<PointSink> sink = take_in_turn(*number, std::move(made), pieces);
      if (sink == nullptr) break;
      Status written = guarded([&]() -> Status {
        PENSTOCK_TRY(
            tracker.points(pieces, [&](ByteView points, PointType type) { return sink->write(points, type); }));
        return sink->end();
      });
      if (written) continue;
      const std::scoped_lock lock(mutex_);
      close(*number, std::move(written));
    }
    const std::scoped_lock lock(mutex_);
    ++finished_;
    changed_.notify_all();
  }

  /// Until so many threads have finished.
  Status watch(std::size_t threads, const std::function<void()>& tell) {
    std::unique_lock lock(mutex_);
    for (std::uint64_t told = 0;;) {
      changed_.wait(lock, [&] { return told != turn_ || finished_ == threads; });
      if (told == turn_) return std::move(error_);
      told = turn_;
      tell();
    }
  }
  void stop(Status why) {
    const std::scoped_lock lock(mutex_);
    close(0, std::move(why));
  }

 private:
  [[nodiscard]] std::uint64_t count_of(std::uint64_t number) const {
    return std::min(seeds_.chunk, seeds_.count - number * seeds_.chunk);
  }
  std::optional<std::uint64_t> next() {
    const std::scoped_lock lock(mutex_);
    if (ended_ || next_ >= chunks_) return {};
    return next_++;
  }
  /// Once all chunks before it are taken; null: it is not.
  std::unique_ptr<PointSink> take_in_turn(std::uint64_t number, Status made, std::span<const Streamlines> pieces) {
    std::unique_lock lock(mutex_);
    ended_ = ended_ || !made;  // those before it are still on their way
    changed_.wait(lock, [&] { return turn_ == number || closed_; });
    if (closed_) return nullptr;
    std::unique_ptr<PointSink> sink;
    if (made)
      made = guarded([&]() -> Status {
        PENSTOCK_ASSIGN(sink, take_(pieces, count_of(number)));
        return {};
      });
    if (!made) {
      close(number, std::move(made));
      return nullptr;
    }
    ++turn_;
    changed_.notify_all();
    return sink;
  }
  void close(std::uint64_t number, Status why) {
    if (error_ || number < failed_) {
      error_ = std::move(why);
      failed_ = number;
    }
    ended_ = closed_ = true;
    changed_.notify_all();
  }

  Job& job_;
  SeedRange seeds_;
  const TakeChunk& take_;
  std::uint64_t chunks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t next_ = 0;  ///< chunk to be tracked
  std::uint64_t turn_ = 0;  ///< chunk to be taken
  std::size_t finished_ = 0;
  Status error_;
  std::uint64_t failed_ = 0;
  bool ended_ = false;   ///< no chunk is begun any more
  bool closed_ = false;  ///< none is taken any more
};

}  // namespace

Status pump(Job& job, std::span<const std::unique_ptr<Tracker>> trackers, const SeedRange& seeds, const TakeChunk& take,
            const std::function<void()>& tell) {
  Pump work(job, seeds, take);
  std::vector<std::jthread> threads;
  Status started = guarded([&]() -> Status {
    for (const auto& tracker : trackers) threads.emplace_back([&work, &tracker] { work.track(*tracker); });
    return {};
  });
  if (!started) work.stop(std::move(started));
  Status status = work.watch(threads.size(), tell);
  threads.clear();
  return status;
}

}  // namespace penstock::tracto
