#include "device/threads.hpp"

#include <oneapi/tbb/global_control.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace penstock {
namespace {

/// How many threads beside this one the system lets live at a time, up to `wanted`.
std::uint64_t threads_to_be_had(std::uint64_t wanted) {
  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;
  std::vector<std::thread> made;
  try {
    made.reserve(wanted);
    while (made.size() < wanted)
      made.emplace_back([&] {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return over; });
      });
  } catch (const std::exception&) {  // std::system_error, std::bad_alloc: no more
  }
  {
    const std::scoped_lock lock(mutex);
    over = true;
    changed.notify_all();
  }
  for (std::thread& thread : made) thread.join();
  return made.size();
}

class Threads {
 public:
  static Threads& get() {
    static auto* threads = new Threads;  // never destroyed: its limit must outlast every user of TBB
    return *threads;
  }
  std::uint64_t usable(std::uint64_t wanted) {
    if (wanted <= usable_.load(std::memory_order_acquire)) return wanted;
    const std::scoped_lock lock(mutex_);
    if (!limit_ && wanted > usable_.load(std::memory_order_relaxed)) {
      const std::uint64_t had = 1 + threads_to_be_had(wanted - 1);
      if (had < wanted) limit_.emplace(tbb::global_control::max_allowed_parallelism, had);
      usable_.store(std::max(had, usable_.load(std::memory_order_relaxed)), std::memory_order_release);
    }
    return std::min(wanted, usable_.load(std::memory_order_relaxed));
  }

 private:
  std::mutex mutex_;
  std::atomic<std::uint64_t> usable_{1};
  std::optional<tbb::global_control> limit_;
};

}  // namespace

std::uint64_t usable_threads(std::uint64_t wanted) { return Threads::get().usable(wanted); }

}  // namespace penstock
