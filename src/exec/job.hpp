// What reading and writing share: workers with reusable buffers, the first error, progress, and the clock of each
// stage.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/function_ref.hpp"
#include "core/guard.hpp"
#include "exec/scratch.hpp"
#include "penstock/options.hpp"
#include "penstock/report.hpp"

namespace penstock {

/// Stages that are timed separately.
enum class Stage : std::uint8_t { fetch, decode, assemble, encode, store };
inline constexpr std::size_t kStages = 5;

/// Why a store's bytes came by the way that it names.
inline constexpr std::string_view kOnlyPath = "the store's only path";

/// Buffers of one thread.
struct WorkerBuffers {
  Bytes encoded;
  Bytes decoded;
  ScratchBuffers scratch;
  [[nodiscard]] std::uint64_t capacity_bytes() const {
    return encoded.capacity() + decoded.capacity() + scratch.a.capacity() + scratch.b.capacity();
  }
};

/// Whether a worker's buffers may come from, and go to, those that the process keeps between operations.
enum class Reuse : std::uint8_t { no, yes };
/// The most that is kept, in all.  Fresh memory for each of many small reads would cost them page faults.
inline constexpr std::uint64_t kKeptBufferBytes = std::uint64_t{32} << 20;
/// Operations with a small budget use buffers of their own: those that were kept may be larger than they need.
constexpr Reuse reuse_within(std::uint64_t budget_bytes) {
  return budget_bytes >= 8 * kKeptBufferBytes ? Reuse::yes : Reuse::no;
}

/// Buffers and counters of one thread.
struct Worker : WorkerBuffers {
  explicit Worker(Reuse reuse);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Encoded chunks of the shard that the thread puts together, used again for its next one.
  std::vector<Bytes> shard_chunks;
  std::array<double, kStages> seconds{};
  std::uint64_t stored_bytes = 0;
  std::uint64_t requests = 0;
  std::uint64_t chunks = 0;
  std::uint64_t absent = 0;
  std::uint64_t merged = 0;  // chunks that came with the request of another

 private:
  Reuse reuse_;
};

/// Adds the time of its life to a stage of a worker.
class StageClock {
 public:
  StageClock(Worker& worker, Stage stage)
      : seconds_(worker.seconds[static_cast<std::size_t>(stage)]), start_(std::chrono::steady_clock::now()) {}
  /// Inside the clock of the stage `around`, which does not count this time.
  StageClock(Worker& worker, Stage stage, Stage around) : StageClock(worker, stage) {
    around_seconds_ = &worker.seconds[static_cast<std::size_t>(around)];
  }
  StageClock(const StageClock&) = delete;
  StageClock& operator=(const StageClock&) = delete;
  ~StageClock() {
    const double time = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    seconds_ += time;
    if (around_seconds_ != nullptr) *around_seconds_ -= time;
  }

 private:
  double& seconds_;
  double* around_seconds_ = nullptr;
  std::chrono::steady_clock::time_point start_;
};

/// Errors of the work, not of the data: they end it also where unreadable chunks become the fill value.
inline bool ends_work(const Error& error) {
  return error.code() == ErrorCode::cancelled || error.code() == ErrorCode::timed_out ||
         error.code() == ErrorCode::out_of_memory;
}

/// The first error of a loop or a flow: of the piece with the lowest number.  That others were stopped for it never
/// takes its place.
class FirstError {
 public:
  void note(std::uint64_t piece, Error error) {
    const std::scoped_lock lock(mutex_);
    const bool stopped = error.code() == ErrorCode::cancelled;
    if (error_ && std::pair(stopped, piece) >= std::pair(error_->code() == ErrorCode::cancelled, piece_)) return;
    error_ = std::move(error);
    piece_ = piece;
  }
  /// Leaves none behind.
  [[nodiscard]] std::optional<Error> take() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(error_, std::nullopt);
  }

 private:
  std::mutex mutex_;
  std::optional<Error> error_;
  std::uint64_t piece_ = 0;
};

/// One operation on many chunks: runs pieces on workers, keeps the first error, listens to the cancel token.
class Job {
 public:
  /// `workers`: most pieces at a time.
  Job(const Options& options, std::string_view what, std::uint64_t total_bytes, std::uint64_t workers,
      Reuse reuse = Reuse::no);
  ~Job();

  /// Calls piece(i) for i in [0, n), in parallel when `parallel`; stops at the first error or when cancelled.  May be
  /// called from inside a piece; the inner call's pieces run before the outer piece goes on.  Success: every piece ran.
  /// When the loop around it stops, so does the inner one, with the error `cancelled`.
  Status for_each(std::uint64_t n, bool parallel, FunctionRef<Status(std::uint64_t)> piece);
  /// As for_each, with at most `at_once` pieces under way.  No wave of them is waited for: where one ends, the next
  /// begins.
  Status for_each_within(std::uint64_t n, std::uint64_t at_once, FunctionRef<Status(std::uint64_t)> piece);
  /// Runs `body` in the arena that limits the number of workers.
  template <class Body>
  auto run(const Body& body) -> decltype(body()) {
    return guarded([&]() -> decltype(body()) {
      std::optional<decltype(body())> result;
      in_arena([&] { result.emplace(body()); });
      return *std::move(result);
    });
  }

  /// The calling thread's buffers.  A piece that holds what inner pieces fill too must not call for_each meanwhile.
  Worker& worker();
  /// Whether work should stop, and why.
  [[nodiscard]] Status check() const;
  /// Whether all of a loop's or a flow's pieces ran; else what stopped them, which was none of their own errors.
  [[nodiscard]] Status check_ran(std::uint64_t ran, std::uint64_t all) const;
  /// Counts decoded bytes and tells the progress function.
  void advance(std::uint64_t bytes);
  void add_problem(std::string key, std::string message);
  /// Sums of all workers.  The stages are left to the caller.
  void fill_report(Report& report);
  [[nodiscard]] double stage_seconds(Stage stage) const;
  /// Chunks that were read with the request of another.
  [[nodiscard]] std::uint64_t merged_chunks() const;
  [[nodiscard]] std::uint64_t worker_count() const { return count_; }
  [[nodiscard]] const Options& options() const { return options_; }
  /// To be handed to what waits.
  [[nodiscard]] const CancelToken& stop() const { return stop_; }

 private:
  struct Threads;  // what is TBB's
  void in_arena(FunctionRef<void()> body);

  const Options& options_;
  CancelToken stop_;
  std::string_view what_;
  std::uint64_t total_bytes_;
  std::uint64_t count_;
  std::unique_ptr<Threads> threads_;
  std::atomic<std::uint64_t> done_bytes_{0};
  std::mutex progress_mutex_;
  std::chrono::steady_clock::time_point last_progress_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::mutex problems_mutex_;
  std::vector<ChunkProblem> problems_;
};

/// The reports of parts of one operation that ran one after the other, as one.
class JoinedReport {
 public:
  void add(const Report& part) {
    if (!whole_) {
      whole_ = part;
      return;
    }
    const double seconds = whole_->wall_seconds + part.wall_seconds;
    whole_->merge(part);
    whole_->wall_seconds = seconds;
  }
  [[nodiscard]] bool empty() const { return !whole_; }
  [[nodiscard]] Report take() && { return *std::move(whole_); }

 private:
  std::optional<Report> whole_;
};

}  // namespace penstock
