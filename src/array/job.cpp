#include "array/job.hpp"

#include <oneapi/tbb/info.h>

#include <algorithm>

namespace penstock {

using Clock = std::chrono::steady_clock;
constexpr auto kProgressEvery = std::chrono::milliseconds(50);

Job::Job(const Options& options, std::string_view what, std::uint64_t total_bytes, std::uint64_t workers)
    : options_(options), what_(what), total_bytes_(total_bytes), count_(std::max<std::uint64_t>(workers, 1)) {
  count_ = std::min<std::uint64_t>(count_, 4096);
  if (count_ > static_cast<std::uint64_t>(tbb::info::default_concurrency()))
    more_threads_.emplace(tbb::global_control::max_allowed_parallelism, count_);
  if (count_ > 1) arena_.emplace(static_cast<int>(count_));
}

Status Job::check() const {
  if (options_.cancel.cancelled()) return Error(ErrorCode::cancelled, std::string(what_) + " was cancelled");
  return {};
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
  for (const Worker& w : workers_) sum += w.seconds[static_cast<std::size_t>(stage)];
  return sum;
}

void Job::fill_report(Report& report) {
  report.operation = what_;
  report.wall_seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  report.threads = count_;
  report.decoded_bytes = done_bytes_.load();
  for (const Worker& w : workers_) {
    report.stored_bytes += w.stored_bytes;
    report.requests += w.requests;
    report.chunks += w.chunks;
    report.absent_chunks += w.absent;
    report.peak_host_bytes += w.buffer_bytes();  // buffers only grow, so this is their highest sum
  }
  std::sort(problems_.begin(), problems_.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  report.problems = std::move(problems_);
}

}  // namespace penstock
