#include "io/fake_cuda.hpp"

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "device/backend.hpp"
#include "device/cpu/backend.hpp"

namespace penstock::test {
namespace {

std::atomic<int> calls_left{-1}, mark_count{0}, copy_count{0};
std::atomic<bool> failed{false}, no_pinned{false};
std::atomic<std::int64_t> copy_us{0};

Status may_fail(const char* name) {
  if (calls_left < 0 || calls_left-- != 0) return {};
  failed = true;
  return Error(ErrorCode::device_error, std::string(name) + " failed, as it was told to");
}

/// A queue that a thread of its own carries out.
class Queue {
 public:
  Queue() : thread_([this] { run(); }) {}
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  ~Queue() {
    {
      const std::scoped_lock lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void put(std::function<void()> work) {
    const std::scoped_lock lock(mutex_);
    queue_.push_back(std::move(work));
    changed_.notify_all();
  }
  void drain() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return queue_.empty() && !busy_; });
  }
  bool idle() {
    const std::scoped_lock lock(mutex_);
    return queue_.empty() && !busy_;
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return over_ || !queue_.empty(); });
      if (queue_.empty()) return;
      const std::function<void()> work = std::move(queue_.front());
      queue_.pop_front();
      busy_ = true;
      lock.unlock();
      work();
      lock.lock();
      busy_ = false;
      changed_.notify_all();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool over_ = false, busy_ = false;
  std::thread thread_;
};

Queue& queue_of(void* stream) {
  static auto& standard = *new Queue;
  return stream == nullptr ? standard : *static_cast<Queue*>(stream);
}

class Mark {
 public:
  void reach() {
    const std::scoped_lock lock(mutex_);
    reached_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return reached_; });
  }
  bool reached() {
    const std::scoped_lock lock(mutex_);
    return reached_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false;
};
/// What the handle of an event points to: the mark outlives it where a stream waits.
using Handle = std::shared_ptr<Mark>;
Handle& mark_of(void* event) { return *static_cast<Handle*>(event); }

std::mutex memory_mutex;
std::map<const std::byte*, std::size_t> memory;

/// Whether it begins in an allocation and ends outside.
bool spans_two(const void* begin, std::uint64_t bytes) {
  const std::scoped_lock lock(memory_mutex);
  const auto* at = static_cast<const std::byte*>(begin);
  const auto after = memory.upper_bound(at);
  if (after == memory.begin()) return false;
  const auto& [data, size] = *std::prev(after);
  return at < data + size && at + bytes > data + size;
}

class FakeCuda final : public Backend {
 public:
  [[nodiscard]] Device::Type type() const override { return Device::Type::cuda; }
  [[nodiscard]] int count() const override { return 1; }
  [[nodiscard]] std::vector<DeviceInfo> devices() const override { return {}; }
  [[nodiscard]] std::string unavailable_reason() const override { return {}; }
  Result<int> index_of(const void* address) override {
    const std::scoped_lock lock(memory_mutex);
    const auto* at = static_cast<const std::byte*>(address);
    auto after = memory.upper_bound(at);
    if (after != memory.begin() && at < std::prev(after)->first + std::prev(after)->second) return 0;
    return Error(ErrorCode::invalid_argument, "not CUDA memory");
  }
  Result<ByteView> allocation_of(int, const void* address) override {
    PENSTOCK_TRY(may_fail("allocation_of"));
    const std::scoped_lock lock(memory_mutex);
    const auto* at = static_cast<const std::byte*>(address);
    const auto after = memory.upper_bound(at);
    if (after == memory.begin()) return Error(ErrorCode::invalid_argument, "not CUDA memory");
    return ByteView(std::prev(after)->first, std::prev(after)->second);
  }
  Result<std::shared_ptr<void>> create_stream(int) override {
    PENSTOCK_TRY(may_fail("create_stream"));
    return std::shared_ptr<void>(new Queue, [](void* queue) { delete static_cast<Queue*>(queue); });
  }
  Status synchronize(int, void* stream) override {
    queue_of(stream).drain();  // first: CUDA tells what went wrong before, and nothing is under way then
    return may_fail("synchronize");
  }
  Result<bool> idle(int, void* stream) override {
    PENSTOCK_TRY(may_fail("idle"));
    return queue_of(stream).idle();
  }
  Result<std::shared_ptr<void>> record_event(int, void* stream) override {
    PENSTOCK_TRY(may_fail("record_event"));
    ++mark_count;
    const Handle mark = std::make_shared<Mark>();
    queue_of(stream).put([mark] { mark->reach(); });
    return std::shared_ptr<void>(new Handle(mark), [](void* event) { delete &mark_of(event); });
  }
  Status wait_event(int, void* stream, void* event) override {
    PENSTOCK_TRY(may_fail("wait_event"));
    queue_of(stream).put([mark = mark_of(event)] { mark->wait(); });
    return {};
  }
  Status synchronize_event(void* event) override {
    mark_of(event)->wait();
    return may_fail("synchronize_event");
  }
  Result<bool> event_done(void* event) override { return mark_of(event)->reached(); }
  Status call_host(int, void* stream, void (*call)(void*), void* argument) override {
    PENSTOCK_TRY(may_fail("call_host"));
    queue_of(stream).put([=] { call(argument); });
    return {};
  }
  Result<std::shared_ptr<Memory>> create_memory(int index, std::uint64_t cap) override {
    return cpu_backend().create_memory(index, cap);
  }
  Status copy_async(void* to, const void* from, std::uint64_t bytes, int, void* stream) override {
    PENSTOCK_TRY(may_fail("copy_async"));
    if (spans_two(to, bytes) || spans_two(from, bytes))
      return Error(ErrorCode::device_error, "copy_async: invalid argument");
    ++copy_count;
    queue_of(stream).put([=] {
      std::this_thread::sleep_for(std::chrono::microseconds(copy_us));
      std::memcpy(to, from, bytes);
    });
    return {};
  }
  Status fill_async(void* to, std::byte value, std::uint64_t bytes, int, void* stream) override {
    queue_of(stream).put([=] { std::memset(to, std::to_integer<int>(value), bytes); });
    return {};
  }
  bool reads_pinned(int) override { return false; }
  Result<void*> allocate_pinned(std::uint64_t bytes) override {
    if (no_pinned) return Error(ErrorCode::out_of_memory, "no pinned memory, as it was told to");
    PENSTOCK_TRY(may_fail("allocate_pinned"));
    return cpu_backend().allocate_pinned(bytes);
  }
  void free_pinned(void* data) noexcept override { cpu_backend().free_pinned(data); }
};

}  // namespace

DeviceMemory::DeviceMemory(std::size_t bytes, std::size_t neighbours) : bytes_(bytes), neighbours_(neighbours) {
  const std::scoped_lock lock(memory_mutex);
  for (std::size_t i = 0; i < neighbours; ++i) memory[bytes_.data() + i * (bytes / neighbours)] = bytes / neighbours;
}
DeviceMemory::~DeviceMemory() {
  const std::scoped_lock lock(memory_mutex);
  for (std::size_t i = 0; i < neighbours_; ++i) memory.erase(bytes_.data() + i * (bytes_.size() / neighbours_));
}

void slow_copies(std::chrono::microseconds each) { copy_us = each.count(); }
void put_work(const Stream& stream, std::function<void()> work) { queue_of(stream.native()).put(std::move(work)); }
void fail_device_call(int skip) {
  failed = false;
  calls_left = skip;
}
bool stop_failing_device() {
  calls_left = -1;
  return failed.exchange(false);
}
void refuse_pinned(bool refuse) { no_pinned = refuse; }
int marks() { return mark_count; }
int copies() { return copy_count; }

}  // namespace penstock::test

namespace penstock {

// In place of device/list.cpp: the library is linked file by file, and this program has its own.
Backend* find_backend(Device::Type type) {
  static test::FakeCuda fake;
  return type == Device::Type::cuda ? static_cast<Backend*>(&fake) : &cpu_backend();
}

}  // namespace penstock
