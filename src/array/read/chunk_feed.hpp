// Hands the chunks of a read to its workers.  Where a store has many requests under way at once, they run ahead of the
// workers in a window that is bounded by their number and by the budget; else each worker makes its own.
#pragma once
#include <condition_variable>
#include <deque>
#include <list>
#include <memory>
#include <mutex>

#include "array/plan/plan.hpp"
#include "array/read/load.hpp"
#include "array/read/object_walk.hpp"

namespace penstock {

/// Thread-safe.
class ChunkFeed {
 public:
  ChunkFeed(const ReadPlan& plan, Job& job);
  ChunkFeed(const ChunkFeed&) = delete;
  ChunkFeed& operator=(const ChunkFeed&) = delete;
  /// Waits for the requests under way.
  ~ChunkFeed();

  /// What a worker has taken and not begun yet.
  struct Share {
    std::shared_ptr<const ObjectChunks> object;
    std::size_t next = 0, last = 0;  // runs
    std::shared_ptr<ObjectWalk::Stretch> stretch{};
  };
  /// The next chunks for this worker, which is done with what `load` held.  Waits for them.  False: there are no more,
  /// or another worker failed.  Errors: cancelled, out_of_memory.
  Result<bool> next(Share& share, Load& load);
  /// Where `error` says that the chunk's object was replaced since it was located: locates the chunk anew, to be taken
  /// later.  False: it says something else, or that was tried often enough.
  Result<bool> locate_again(const Load& load, const ObjectChunks::Chunk& chunk, const Error& error);
  /// The most that the window held.
  [[nodiscard]] std::uint64_t peak_bytes() const { return peak_bytes_; }
  /// No worker gets anything more.
  void stop();

 private:
  struct Batch;
  struct Ready {
    std::shared_ptr<const ObjectChunks> object;
    std::size_t next, last;                      // runs
    const ObjectWalk::Stretch* owner = nullptr;  // of the worker that located them
  };
  using Lock = std::unique_lock<std::mutex>;
  /// Whether requests are made before a worker waits for them.
  [[nodiscard]] bool runs_ahead() const { return plan_.traits.requests_in_flight > 0; }
  void join_neighbours(std::vector<std::vector<Part>>& taken) const;
  Result<bool> prepare_more(Lock& lock, Share& share);
  Status locate(std::vector<ObjectChunks>& objects);
  enum class Whose : std::uint8_t { own, any };
  bool take_share(Share& share, Whose whose);
  [[nodiscard]] std::uint64_t objects_ahead() const;
  bool fetch_more(Lock& lock);
  [[nodiscard]] std::uint64_t charge_of(const ObjectChunks& object, std::size_t run) const;
  void arrive(Batch& batch, std::size_t request, FetchAnswer answer);
  Status wait(Lock& lock);

  const ReadPlan& plan_;
  Job& job_;
  std::atomic<std::uint64_t> held_bytes_ = 0;  // of shards that came whole; what follows may hold some
  CancelToken cancel_requests_;                // of the requests that run ahead
  std::mutex mutex_;
  const std::shared_ptr<std::condition_variable> changed_ = std::make_shared<std::condition_variable>();
  ObjectWalk walk_;
  std::deque<Ready> ready_;      // located
  std::uint64_t preparing_ = 0;  // workers that locate
  bool stopped_ = false;
  std::list<Batch> batches_;  // under way
  std::deque<Load> arrived_;
  std::uint64_t in_flight_ = 0, charged_bytes_ = 0, peak_bytes_ = 0;
};

}  // namespace penstock
