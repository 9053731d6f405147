// Work that begets work: pieces that add pieces, where nobody waits but the one who began it.
#pragma once
#include <oneapi/tbb/task_group.h>

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "array/job.hpp"

namespace penstock {

/// Runs pieces of a job, in parallel or one after another.  A thread that has nothing to do takes whatever piece there
/// is: unlike with nested loops, none waits for the pieces of another's object.
class Flow {
 public:
  Flow(Job& job, bool parallel) : job_(job), parallel_(parallel && job.worker_count() > 1) {}
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;
  ~Flow() {
    if (parallel_) (void)finish();
  }

  /// Calls piece(i) for i in [0, n), now or later; `piece` must own what it needs.  Errors: of a piece that ran now.
  template <class Piece>
  Status add(std::uint64_t n, Piece piece);
  /// Waits for all pieces.  Errors: the first; then the others are not begun.
  Status finish();

 private:
  template <class Piece>
  void run(const std::shared_ptr<const Piece>& piece, std::uint64_t first, std::uint64_t last);
  void fail(Error error);

  Job& job_;
  bool parallel_;
  tbb::task_group group_;
  std::mutex mutex_;
  std::optional<Error> first_;
};

template <class Piece>
Status Flow::add(std::uint64_t n, Piece piece) {
  if (!parallel_) {
    for (std::uint64_t i = 0; i < n; ++i) {
      PENSTOCK_TRY(job_.check());
      PENSTOCK_TRY(piece(i));
    }
    return {};
  }
  if (n == 0) return {};
  auto shared = std::make_shared<const Piece>(std::move(piece));
  group_.run([this, shared = std::move(shared), n] { run(shared, 0, n); });
  return {};
}

/// The first half of the pieces here, in order; the other halves lie ready for threads that have nothing to do.
template <class Piece>
void Flow::run(const std::shared_ptr<const Piece>& piece, std::uint64_t first, std::uint64_t last) {
  while (last - first > 1) {
    const std::uint64_t middle = first + (last - first) / 2;
    group_.run([this, piece, middle, last] { run(piece, middle, last); });
    last = middle;
  }
  Status status = job_.check();
  if (status) status = (*piece)(first);
  if (!status) fail(std::move(status).error());
}

inline void Flow::fail(Error error) {
  const std::scoped_lock lock(mutex_);
  if (!first_) first_ = std::move(error);
  group_.cancel();
}

inline Status Flow::finish() {
  if (parallel_) group_.wait();
  const std::scoped_lock lock(mutex_);
  if (first_) return *std::exchange(first_, std::nullopt);
  return job_.check();
}

}  // namespace penstock
