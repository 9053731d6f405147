#include "io/in_stream.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "core/checked.hpp"
#include "core/guard.hpp"
#include "device/backend.hpp"
#include "device/pinned_ring.hpp"
#include "io/per_process.hpp"
#include "io/pool.hpp"

namespace penstock::io {
namespace {

constexpr std::uint64_t kBlock = 4096;
constexpr std::uint64_t kMaxSlots = 2;  // one on the bus, one with the file

std::uint64_t up(std::uint64_t value) { return div_up(value, kBlock) * kBlock; }

/// A request in a stream, in parts by way of slots of pinned memory.  Two queues: the caller's stream, which copies,
/// and one in which the driver calls the host to read and write the file.  What the host does there waits for threads
/// that never wait for a device (Pool): the driver may be waiting for it.
class Enqueued : public std::enable_shared_from_this<Enqueued> {
 public:
  Enqueued(Order order, Order part) : part_(std::move(part)), request_(std::make_shared<Request>(std::move(order))) {
    (void)request_->claim(request_);
  }
  [[nodiscard]] const std::shared_ptr<Request>& request() const { return request_; }
  Status put(const Stream& stream);
  /// Nothing more happens when the calls that are in the queue come.
  void give_up() { note(Error(ErrorCode::cancelled, "not all of the request could be put into the stream"), 0); }
  /// Waits for what is in the queues.
  void settle(const Stream& stream) {
    if (files_) (void)files_->synchronize();
    (void)stream.synchronize();
  }
  [[nodiscard]] bool is_over() const {
    const Result<bool> there = done_->done();
    return !there || *there;
  }
  void conclude();
  void conclude(Status status);

 private:
  struct Call {
    std::shared_ptr<Enqueued> what;
    std::uint64_t at = 0;
    ByteSpan slot;
  };
  Status prepare();
  Status put_read(const Stream& stream);
  Status put_write(const Stream& stream);
  Status call(std::uint64_t at, ByteSpan slot);
  static void carry_out(void* argument);
  void move(std::uint64_t at, ByteSpan slot);
  void note(Status status, double seconds);
  [[nodiscard]] const Order& order() const { return request_->order(); }
  [[nodiscard]] ByteSpan slot(std::uint64_t at) const {
    return {slab_.data() + at / each_ % slots_ * each_, std::min(each_, order().bytes - at)};
  }

  const Order part_;
  const std::shared_ptr<Request> request_;
  std::uint64_t each_ = 0, slots_ = 0;
  Slab slab_;
  std::optional<Stream> files_;
  std::optional<Event> done_;
  std::mutex mutex_;  // guards what follows
  Status status_;
  double seconds_ = 0;
};

Status Enqueued::prepare() {
  each_ = up(std::min(order().bytes, kStreamPartBytes));
  slots_ = std::min(kMaxSlots, div_up(order().bytes, each_));
  PENSTOCK_ASSIGN(files_, Stream::create(order().device));
  PENSTOCK_ASSIGN(const auto ring, shared_pinned_ring(order().device.type));
  PENSTOCK_ASSIGN(slab_, ring->acquire(slots_ * each_, order().stop));
  return {};
}

Status Enqueued::put(const Stream& stream) {
  PENSTOCK_TRY(prepare());
  PENSTOCK_ASSIGN(const Event before, Event::record(stream));
  PENSTOCK_TRY(before.wait_on(*files_));
  return order().direction == Direction::read ? put_read(stream) : put_write(stream);
}

Status Enqueued::put_read(const Stream& stream) {
  std::vector<Event> copied;
  for (std::uint64_t at = 0; at < order().bytes; at += each_) {
    const ByteSpan bytes = slot(at);
    if (copied.size() >= slots_) PENSTOCK_TRY(copied[copied.size() - slots_].wait_on(*files_));
    PENSTOCK_TRY(call(at, bytes));
    PENSTOCK_ASSIGN(const Event filled, Event::record(*files_));
    PENSTOCK_TRY(filled.wait_on(stream));
    PENSTOCK_TRY(copy_async(order().memory + at, order().device, bytes.data(), {}, bytes.size(), stream));
    PENSTOCK_ASSIGN(Event mark, Event::record(stream));
    copied.push_back(std::move(mark));
  }
  done_ = copied.back();
  return {};
}

Status Enqueued::put_write(const Stream& stream) {
  std::vector<Event> written;
  for (std::uint64_t at = 0; at < order().bytes; at += each_) {
    const ByteSpan bytes = slot(at);
    if (written.size() >= slots_) PENSTOCK_TRY(written[written.size() - slots_].wait_on(stream));
    PENSTOCK_TRY(copy_async(bytes.data(), {}, order().memory + at, order().device, bytes.size(), stream));
    PENSTOCK_ASSIGN(const Event copied, Event::record(stream));
    PENSTOCK_TRY(copied.wait_on(*files_));
    PENSTOCK_TRY(call(at, bytes));
    PENSTOCK_ASSIGN(Event mark, Event::record(*files_));
    written.push_back(std::move(mark));
  }
  PENSTOCK_TRY(written.back().wait_on(stream));  // later work may read the file
  done_ = written.back();
  return {};
}

Status Enqueued::call(std::uint64_t at, ByteSpan slot) {
  auto made = std::make_unique<Call>(Call{shared_from_this(), at, slot});
  Backend& backend = *find_backend(order().device.type);
  PENSTOCK_TRY(backend.call_host(order().device.index, files_->native(), carry_out, made.get()));
  [[maybe_unused]] Call* const carried = made.release();  // carry_out has it
  return {};
}

void Enqueued::carry_out(void* argument) {
  const std::unique_ptr<Call> call(static_cast<Call*>(argument));
  call->what->move(call->at, call->slot);
}

void Enqueued::move(std::uint64_t at, ByteSpan slot) {
  {
    const std::scoped_lock lock(mutex_);
    if (!status_) return;
  }
  const auto start = std::chrono::steady_clock::now();
  Status status = guarded([&]() -> Status {
    Order order = part_;
    order.memory = slot.data();
    order.bytes = slot.size();
    order.offset += at;
    const auto request = std::make_shared<Request>(std::move(order));
    part_.file->add();
    of_this_process<Pool>().submit(request);
    PENSTOCK_TRY(request->result());
    return {};
  });
  note(std::move(status), std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

void Enqueued::note(Status status, double seconds) {
  const std::scoped_lock lock(mutex_);
  seconds_ += seconds;
  if (!status && status_) status_ = std::move(status);
}

void Enqueued::conclude() {
  Result<bool> there = done_->done();
  if (!there) note(std::move(there).error(), 0);
  conclude(std::exchange(status_, {}));  // nobody else has it any more
}

void Enqueued::conclude(Status status) {
  slab_.release();
  (void)request_->ended(std::move(status), seconds_);
  request_->conclude();
}

/// Sees when requests are over.  A thread of its own: what the driver calls may call no driver, and the memory of a
/// request may be freed by it.
class Finisher {
 public:
  static Finisher& get() { return of_this_process<Finisher>(); }
  /// Room for one more, and a thread that looks.
  Status prepare() {
    const std::scoped_lock lock(mutex_);
    pending_.reserve(pending_.size() + ++promised_);
    if (!started_) std::thread([this] { run(); }).detach();
    started_ = true;
    return {};
  }
  void add(std::shared_ptr<Enqueued> one) {
    const std::scoped_lock lock(mutex_);
    --promised_;
    pending_.push_back(std::move(one));
    changed_.notify_all();
  }
  void forget() {
    const std::scoped_lock lock(mutex_);
    --promised_;
  }
  void wait_idle() {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [&] { return pending_.empty() && !concluding_; });
  }

 private:
  void run() {
    constexpr std::chrono::microseconds kLook{100};
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return !pending_.empty(); });
      const auto over = std::ranges::find_if(pending_, [](const auto& one) { return one->is_over(); });
      if (over == pending_.end()) {
        lock.unlock();
        std::this_thread::sleep_for(kLook);
        lock.lock();
        continue;
      }
      std::shared_ptr<Enqueued> one = std::move(*over);
      pending_.erase(over);
      concluding_ = true;
      lock.unlock();
      one->conclude();
      one.reset();
      lock.lock();
      concluding_ = false;
      if (pending_.empty()) idle_.notify_all();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_, idle_;
  std::vector<std::shared_ptr<Enqueued>> pending_;
  std::size_t promised_ = 0;
  bool started_ = false, concluding_ = false;
};

}  // namespace

std::shared_ptr<Request> enqueue(Order order, Order part, const Stream& stream) {
  const auto one = std::make_shared<Enqueued>(std::move(order), std::move(part));
  const std::shared_ptr<Request> request = one->request();
  Status begun = guarded([&] { return Finisher::get().prepare(); });
  if (!begun) {
    one->conclude(std::move(begun));
    return request;
  }
  begun = guarded([&] { return one->put(stream); });
  if (begun) {
    Finisher::get().add(one);
    return request;
  }
  Finisher::get().forget();
  one->give_up();
  one->settle(stream);
  one->conclude(std::move(begun));
  return request;
}

void wait_for_streams() { Finisher::get().wait_idle(); }

}  // namespace penstock::io
