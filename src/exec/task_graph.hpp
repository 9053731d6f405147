// Dynamic task graph: tasks may add tasks; only the caller of finish() blocks.
#pragma once
#include <oneapi/tbb/task_group.h>

#include <atomic>
#include <memory>
#include <utility>

#include "exec/job.hpp"

namespace penstock {

/// Runs pieces of a job, in parallel or one after another.  A thread that has nothing to do takes whatever piece there
/// is: unlike with nested loops, none waits for the pieces of another's object.
class TaskGraph {
 public:
  TaskGraph(Job& job, bool parallel) : job_(job), parallel_(parallel && job.worker_count() > 1) {}
  TaskGraph(const TaskGraph&) = delete;
  TaskGraph& operator=(const TaskGraph&) = delete;
  ~TaskGraph() {
    if (!parallel_) return;
    try {
      group_.wait();
    } catch (...) {  // a caller that skipped finish() has an error already
    }
  }

  /// Calls piece(i) for i in [0, n), now or later; `piece` must own what it needs.  Errors: of a piece that ran now;
  /// out_of_memory.
  template <class Piece>
  Status add(std::uint64_t n, Piece piece);
  /// Waits for all pieces.  Success: every piece ran.  Errors: the first; then the others are not begun.
  Status finish();

 private:
  template <class Piece>
  void run(const std::shared_ptr<const Piece>& piece, std::uint64_t first, std::uint64_t last);
  void fail(Error error);

  Job& job_;
  bool parallel_;
  tbb::task_group group_;
  FirstError first_;
  std::atomic<std::uint64_t> added_{0}, ran_{0};
};

template <class Piece>
Status TaskGraph::add(std::uint64_t n, Piece piece) {
  if (!parallel_) {
    for (std::uint64_t i = 0; i < n; ++i) {
      PENSTOCK_TRY(job_.check());
      PENSTOCK_TRY(piece(i));
    }
    return {};
  }
  if (n == 0) return {};
  added_.fetch_add(n, std::memory_order_relaxed);
  return guarded([&]() -> Status {
    auto shared = std::make_shared<const Piece>(std::move(piece));
    group_.run([this, shared = std::move(shared), n] { run(shared, 0, n); });
    return {};
  });
}

/// The first half of the pieces here, in order; the other halves lie ready for threads that have nothing to do.
template <class Piece>
void TaskGraph::run(const std::shared_ptr<const Piece>& piece, std::uint64_t first, std::uint64_t last) {
  const Status status = guarded([&]() -> Status {
    while (last - first > 1) {
      const std::uint64_t middle = first + (last - first) / 2;
      group_.run([this, piece, middle, last] { run(piece, middle, last); });
      last = middle;
    }
    PENSTOCK_TRY(job_.check());
    return (*piece)(first);
  });
  ran_.fetch_add(1, std::memory_order_relaxed);
  if (!status) fail(status.error());
}

inline void TaskGraph::fail(Error error) {
  first_.note(0, std::move(error));
  group_.cancel();
}

inline Status TaskGraph::finish() {
  if (parallel_)
    PENSTOCK_TRY(guarded([&]() -> Status {
      group_.wait();
      return {};
    }));
  const std::uint64_t added = added_.exchange(0), ran = ran_.exchange(0);
  if (auto error = first_.take()) return *std::move(error);
  return job_.check_ran(ran, added);
}

}  // namespace penstock
