#include "exec/job.hpp"

#include <oneapi/tbb/enumerable_thread_specific.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <algorithm>

#include "device/threads.hpp"

namespace penstock {

using Clock = std::chrono::steady_clock;
constexpr auto kProgressEvery = std::chrono::milliseconds(50);

namespace {

/// Buffers between operations, the last used on top.
class KeptBuffers {
 public:
  static KeptBuffers& get() {
    static auto* kept = new KeptBuffers;  // never destroyed: threads of other libraries may outlive main
    return *kept;
  }
  WorkerBuffers take() {
    const std::scoped_lock lock(mutex_);
    if (items_.empty()) return {};
    WorkerBuffers buffers = std::move(items_.back());
    items_.pop_back();
    bytes_ -= buffers.capacity_bytes();
    return buffers;
  }
  void keep(WorkerBuffers buffers) {
    const std::uint64_t bytes = buffers.capacity_bytes();
    const std::scoped_lock lock(mutex_);
    if (bytes == 0 || bytes > kKeptBufferBytes - bytes_) return;
    if (!guarded([&]() -> Status {
          items_.emplace_back();
          return {};
        }))
      return;  // no memory for one more: these go
    bytes_ += bytes;
    items_.back() = std::move(buffers);
  }

 private:
  std::mutex mutex_;
  std::vector<WorkerBuffers> items_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

Worker::Worker(Reuse reuse)
    : WorkerBuffers(reuse == Reuse::yes ? KeptBuffers::get().take() : WorkerBuffers()), reuse_(reuse) {}

Worker::~Worker() {
  if (reuse_ == Reuse::yes) KeptBuffers::get().keep(std::move(*this));
}

struct Job::Threads {
  explicit Threads(Reuse reuse) : workers([reuse] { return Worker(reuse); }) {}
  std::optional<tbb::global_control> more;  // when more are asked for than there are CPUs
  std::optional<tbb::task_arena> arena;
  tbb::enumerable_thread_specific<Worker> workers;
};

Job::Job(const Options& options, std::string_view what, std::uint64_t total_bytes, std::uint64_t workers, Reuse reuse)
    : options_(options),
      stop_(options.stop()),
      what_(what),
      total_bytes_(total_bytes),
      count_(std::clamp<std::uint64_t>(workers, 1, 4096)),
      threads_(std::make_unique<Threads>(reuse)) {
  const auto usual = static_cast<std::uint64_t>(tbb::info::default_concurrency());
  if (count_ > usual) threads_->more.emplace(tbb::global_control::max_allowed_parallelism, count_);
  count_ = usable_threads(count_);
  // Else the calling thread's own arena, which stands: small reads follow each other faster than threads fall asleep.
  if (count_ > 1 && count_ != usual) threads_->arena.emplace(static_cast<int>(count_));
}

Job::~Job() = default;

Worker& Job::worker() { return threads_->workers.local(); }

void Job::in_arena(FunctionRef<void()> body) {
  if (count_ <= 1) {
    body();
  } else if (threads_->arena) {
    threads_->arena->execute(body);
  } else {
    tbb::this_task_arena::isolate(body);  // the caller may be at work in this arena itself
  }
}

Status Job::for_each(std::uint64_t n, bool parallel, FunctionRef<Status(std::uint64_t)> piece) {
  if (!parallel || n <= 1 || count_ <= 1) {
    for (std::uint64_t i = 0; i < n; ++i) {
      PENSTOCK_TRY(check());
      PENSTOCK_TRY(piece(i));
    }
    return {};
  }
  FirstError first;
  std::atomic<std::uint64_t> ran{0};
  tbb::task_group_context context;  // bound to that of the loop around this one, which may stop it at any piece
  const auto body = [&](std::uint64_t i) {
    Status status = guarded([&]() -> Status {
      PENSTOCK_TRY(check());
      return piece(i);
    });
    ran.fetch_add(1, std::memory_order_relaxed);
    if (status) return;
    first.note(i, std::move(status).error());
    context.cancel_group_execution();
  };
  // Isolated: a thread that waits for inner pieces takes up no outer one, which would want buffers that are in use.
  tbb::this_task_arena::isolate(
      [&] { tbb::parallel_for(std::uint64_t{0}, n, body, tbb::simple_partitioner(), context); });
  if (auto error = first.take()) return *std::move(error);
  return check_ran(ran, n);
}

Status Job::for_each_within(std::uint64_t n, std::uint64_t at_once, FunctionRef<Status(std::uint64_t)> piece) {
  if (at_once >= n) return for_each(n, true, piece);
  std::atomic<std::uint64_t> next{0};
  const auto one_after_another = [&](std::uint64_t) -> Status {
    for (std::uint64_t i = 0; (i = next.fetch_add(1, std::memory_order_relaxed)) < n;) {
      Status status = check();
      if (status) status = guarded([&]() -> Status { return piece(i); });
      if (status) continue;
      next.store(n, std::memory_order_relaxed);
      return status;
    }
    return {};
  };
  return for_each(at_once, true, one_after_another);
}

Status Job::check() const { return stop_.check(what_); }

Status Job::check_ran(std::uint64_t ran, std::uint64_t all) const {
  if (ran == all) return check();
  return Error(ErrorCode::cancelled, std::string(what_) + " was stopped: another part of it failed");
}

void Job::advance(std::uint64_t bytes) {
  const std::uint64_t done = done_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (!options_.progress) return;
  const std::unique_lock lock(progress_mutex_, std::try_to_lock);
  if (!lock) return;
  const auto now = Clock::now();
  if (now - last_progress_ < kProgressEvery && done < total_bytes_) return;
  last_progress_ = now;
  options_.progress({what_, std::min(done, total_bytes_), total_bytes_});
}

void Job::add_problem(std::string key, std::string message) {
  const std::scoped_lock lock(problems_mutex_);
  problems_.push_back({std::move(key), std::move(message)});
}

double Job::stage_seconds(Stage stage) const {
  double sum = 0;
  for (const Worker& w : threads_->workers) sum += w.seconds[static_cast<std::size_t>(stage)];
  return sum;
}

std::uint64_t Job::merged_chunks() const {
  std::uint64_t sum = 0;
  for (const Worker& w : threads_->workers) sum += w.merged;
  return sum;
}

void Job::fill_report(Report& report) {
  report.operation = what_;
  report.wall_seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  report.threads = count_;
  report.decoded_bytes = done_bytes_.load();
  for (const Worker& w : threads_->workers) {
    report.stored_bytes += w.stored_bytes;
    report.requests += w.requests;
    report.chunks += w.chunks;
    report.absent_chunks += w.absent;
    report.peak_host_bytes += w.capacity_bytes();  // buffers only grow, so this is their highest sum
    for (const Bytes& chunk : w.shard_chunks) report.peak_host_bytes += chunk.capacity();
  }
  std::sort(problems_.begin(), problems_.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  report.problems = std::move(problems_);
}

}  // namespace penstock
