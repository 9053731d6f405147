#include "io/device_pool.hpp"

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

#include "core/guard.hpp"
#include "io/pool.hpp"

namespace penstock::io {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

/// While nothing else is under way a load of so many bytes need not be full: the bus is to begin.
constexpr std::uint64_t kEagerBytes = std::uint64_t{1} << 20;
/// A thread looks so long for more to do before it falls asleep: waking up takes longer than the bus needs for a load.
constexpr microseconds kSpin{100};
/// Threads that do so where nothing waits for the bus.
constexpr std::uint64_t kSpinners = 3;
/// Most small pieces, and bytes of them, that a thread takes at a time.
constexpr std::size_t kMaxShare = 16;
constexpr std::uint64_t kShareBytes = std::uint64_t{512} << 10;
/// How often is looked whether the stream of a request is done with its work: nothing wakes for that.
constexpr microseconds kLook{50};
/// Pinned memory that may be needed again at once is kept for so long.
constexpr milliseconds kKeep{20};

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// A copy that takes no memory which there is not.
Status copied(const Status& status) {
  return guarded([&]() -> Status { return status; });
}

/// Moves a part between its file and the slab.
void move(const Load& load, Part& part) {
  const auto start = Clock::now();
  const Order& order = part.piece.request->order();
  const Choice& choice = order.choice;
  part.status = guarded([&]() -> Status {
    const bool reading = order.direction == Direction::read;
    PENSTOCK_TRY(order.stop.check(reading ? "read" : "write"));
    if (!reading) return choice.engine->write(*order.file, choice.offer, part.piece.offset, load.bytes_of(part), {});
    const auto got =
        choice.engine->read(*order.file, choice.offer, part.piece.offset, part.piece.bytes, load.room_of(part));
    if (!got) return got.error();
    return {};
  });
  part.seconds = since(start);
}

/// What is in a request's stream, where that is not done.
Result<std::optional<Event>> work_before(Device device, void* handle) {
  return guarded([&]() -> Result<std::optional<Event>> {
    PENSTOCK_ASSIGN(const bool idle, find_backend(device.type)->idle(device.index, handle));
    if (idle) return std::optional<Event>();
    PENSTOCK_ASSIGN(const Stream stream, Stream::wrap(device, handle));
    PENSTOCK_ASSIGN(Event mark, Event::record(stream));
    return std::optional(std::move(mark));
  });
}

/// Lets the other half of a core work.
void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

DevicePool::Lane::Lane(Device device_of_lane, Direction direction_of_lane)
    : device(device_of_lane), direction(direction_of_lane) {
  for (auto* some : {&bare, &free, &on_bus, &landed}) some->reserve(kLoads);
  for (Load& load : loads) bare.push_back(&load);
}

DevicePool::DevicePool() = default;

bool DevicePool::start_thread() {
  try {
    std::thread([this] { work(); }).detach();
  } catch (const std::exception&) {  // the system has no more: those that there are do it all
    return false;
  }
  ++threads_;
  return true;
}

void DevicePool::submit(const std::shared_ptr<Request>& request) {
  door_.leave(request);
  if (spinning_ > 0) return;  // who spins has not seen it yet, or sees it before it sleeps
  // Nobody sleeps, and there are all threads: each looks at the door when it is done with what it is at.
  if (waiting_ == 0 && threads_ >= std::min(request->order().threads, kMaxThreads)) return;
  if (threads_ > 0 && called_.exchange(true)) return;  // who was called before looks at the door, and has not yet
  Lock lock(mutex_);
  if (door_.is_empty()) {  // somebody was awake, and took it before it was called: the next one calls again
    called_ = false;
    if (door_.is_empty()) return;  // what came before that line counted on this call
  }
  if (waiting_ > 0)
    changed_.notify_one();
  else
    start_threads_for(request->order(), 1);
  if (threads_ > 0) return;
  // No thread is to be had: this one does it.
  while (!request->done()) {
    const std::uint64_t seen = version_;
    if (!step(lock) && version_ == seen && door_.is_empty()) {
      lock.unlock();
      std::this_thread::sleep_for(kLook);
      lock.lock();
    }
  }
}

void DevicePool::start_threads_for(const Order& order, std::uint64_t pieces) {
  const std::uint64_t most = std::min(order.threads, kMaxThreads), wanted = std::min(pieces, most);
  for (std::uint64_t ready = waiting_ + spinning_; ready < wanted && threads_ < most && start_thread(); ++ready) {
  }
}

bool DevicePool::admit(Lock& lock) {
  thread_local std::vector<Before> streams;
  if (door_.is_empty()) return false;
  called_ = false;  // before the look: who comes after it calls again
  std::shared_ptr<Request> request = door_.fetch();
  if (!request) return false;
  for (const Request* one = request.get(); one != nullptr; one = Door::behind(*one)) ++requests_;
  lock.unlock();
  const auto before = [&](const Order& order) -> Before& {
    for (Before& one : streams)
      if (one.device == order.device && one.stream == order.after) return one;
    return streams.emplace_back(Before{order.device, order.after, work_before(order.device, order.after)});
  };
  for (const Request* one = request.get(); one != nullptr; one = Door::behind(*one)) (void)before(one->order());
  lock.lock();
  std::uint64_t pieces = 0;
  for (; request; request = Door::take_behind(*request)) {
    const Result<std::optional<Event>>& mark = before(request->order()).mark;
    if (!mark) {
      request->fail(copied(mark.error()));
      conclude(lock, request);
    } else if (*mark) {
      late_.push_back({request, **mark});
    } else {
      put(request);
      pieces += request->pieces();
      start_threads_for(request->order(), pieces);
    }
  }
  streams.clear();
  wake(pieces > 1 ? pieces - 1 : 0);
  return true;
}

void DevicePool::wait_idle() {
  Lock lock(mutex_);
  idle_.wait(lock, [&] { return requests_ == 0 && door_.is_empty(); });
}

DevicePool::Lane& DevicePool::lane_of(const Order& order) {
  for (const auto& lane : lanes_)
    if (lane->device == order.device && lane->direction == order.direction) return *lane;
  lanes_.push_back(std::make_unique<Lane>(order.device, order.direction));
  return *lanes_.back();
}

void DevicePool::put(const std::shared_ptr<Request>& request) { lane_of(request->order()).queue.push_back(request); }

void DevicePool::wake(std::uint64_t threads) {
  ++version_;
  if (waiting_ == 0 || threads <= spinning_) return;
  if (threads - spinning_ == 1)
    changed_.notify_one();
  else
    changed_.notify_all();
}

void DevicePool::work() {
  Lock lock(mutex_);
  for (;;) {
    const std::uint64_t seen = version_;
    if (!step(lock)) rest(lock, seen);
  }
}

bool DevicePool::step(Lock& lock) {
  if (admit(lock) || look_at_late(lock)) return true;
  const std::size_t first = turn_++;
  for (std::size_t i = 0; i < lanes_.size(); ++i)
    if (step(lock, *lanes_[(first + i) % lanes_.size()])) return true;
  for (std::size_t i = 0; i < lanes_.size(); ++i)
    if (collect(lock, *lanes_[i], Wait::yes)) return true;
  return false;
}

bool DevicePool::step(Lock& lock, Lane& lane) {
  if (collect(lock, lane, Wait::no)) return true;
  while (!lane.queue.empty() && !lane.queue.front()->has_more()) lane.queue.pop_front();  // failed meanwhile
  if (lane.direction == Direction::read) return fill_pieces(lock, lane);
  return store_piece(lock, lane) || fetch_load(lock, lane);
}

void DevicePool::rest(Lock& lock, std::uint64_t seen) {
  const auto changed = [&] { return version_ != seen || !door_.is_empty(); };
  if (changed()) return;
  const bool soon = std::ranges::any_of(lanes_, [](const auto& lane) { return !lane->queue.empty(); });
  if (soon || spinning_ < kSpinners) {
    ++spinning_;
    lock.unlock();
    for (const auto until = Clock::now() + kSpin; !changed() && Clock::now() < until; std::this_thread::yield())
      for (int i = 0; i < 64 && !changed(); ++i) pause();
    lock.lock();
    --spinning_;
    if (changed()) return;
  }
  ++waiting_;
  const bool looks = !late_.empty() || std::ranges::any_of(lanes_, [](const auto& lane) { return lane->starves(); });
  if (looks && !watching_) {
    watching_ = true;
    (void)changed_.wait_for(lock, kLook, changed);
    watching_ = false;
  } else if (requests_ > 0) {
    changed_.wait(lock, changed);
  } else {
    if (!changed_.wait_for(lock, kKeep, changed)) release_slabs(lock);
    changed_.wait(lock, changed);
  }
  --waiting_;
}

bool DevicePool::look_at_late(Lock& lock) {
  if (late_.empty() || looking_ || Clock::now() < next_look_) return false;
  looking_ = true;
  looked_at_.swap(late_);
  lock.unlock();
  const auto is_late = [](const Late& one) {
    if (!one.request->order().stop.check("the request")) return false;  // its pieces say so
    const Result<bool> there = one.mark.done();
    return there && !*there;  // what is wrong with the device, the copy tells
  };
  const auto ready = std::stable_partition(looked_at_.begin(), looked_at_.end(), is_late);
  lock.lock();
  const auto count = static_cast<std::uint64_t>(looked_at_.end() - ready);
  for (auto one = ready; one != looked_at_.end(); ++one) {
    put(one->request);
    start_threads_for(one->request->order(), one->request->pieces());
  }
  looked_at_.erase(ready, looked_at_.end());
  looked_at_.swap(late_);
  std::move(looked_at_.begin(), looked_at_.end(), std::back_inserter(late_));  // that came meanwhile
  looked_at_.clear();
  next_look_ = Clock::now() + kLook;
  looking_ = false;
  if (count > 0) wake(kMaxThreads);
  return count > 0;
}

bool DevicePool::fill_pieces(Lock& lock, Lane& lane) {
  // Those in front have as many threads as they may.
  const auto which = std::ranges::find_if(lane.queue, [](const auto& one) { return one->has_room(); });
  const bool is_there = which != lane.queue.end();
  if (lane.open != nullptr && (is_there ? !lane.open->takes(**which) : lane.queue.empty())) {
    Load& full = *std::exchange(lane.open, nullptr);
    full.closed = true;
    if (full.moving == 0) {
      send(lock, lane, full);
      return true;
    }
  }
  if (!is_there) return false;
  if (lane.open == nullptr) {
    if (lane.free.empty()) return get_slab(lock, lane);
    lane.open = lane.free.back();
    lane.free.pop_back();
  }
  Load& load = *lane.open;
  const std::size_t first = load.parts.size();
  claim_some(lane, load);
  const std::size_t last = load.parts.size();
  load.moving += last - first;
  if (load.filled >= kEagerBytes && lane.used() == 1) {
    load.closed = true;
    lane.open = nullptr;
  }
  if (spinning_ == 0 && waiting_ > 0) wake(1);  // somebody is to see what comes next
  lock.unlock();
  for (std::size_t i = first; i < last; ++i) move(load, load.parts[i]);
  lock.lock();
  for (std::size_t i = first; i < last; ++i) {
    const Part& part = load.parts[i];
    Request& request = *part.piece.request;
    if (i == first || load.parts[i - 1].piece.request.get() != &request) request.let_go();
    if (!part.status) request.fail(copied(part.status));
  }
  load.moving -= last - first;
  if (load.moving == 0 && (load.closed || lane.queue.empty())) send(lock, lane, load);
  return true;
}

/// A piece, or several small ones, of which the other threads are to find some, too.
void DevicePool::claim_some(Lane& lane, Load& load) {
  const std::size_t left = lane.queue.size() - 1 + lane.queue.front()->parts_left();
  const std::size_t most = std::min<std::size_t>(kMaxShare, 1 + left / (2 * std::max<std::uint64_t>(threads_, 1)));
  std::uint64_t bytes = 0;
  for (std::size_t count = 0; count < most && bytes < kShareBytes; ++count) {
    const Request* const mine = count == 0 ? nullptr : load.parts.back().piece.request.get();
    const auto which = std::ranges::find_if(
        lane.queue, [&](const auto& one) { return one->has_more() && (one->may_hold() || one.get() == mine); });
    if (which == lane.queue.end() || !load.takes(**which)) return;
    const std::shared_ptr<Request> request = *which;
    if (request.get() != mine) request->hold();
    bytes += load.add(request).piece.bytes;
    if (!request->has_more()) lane.queue.erase(which);
  }
}

bool DevicePool::fetch_load(Lock& lock, Lane& lane) {
  if (lane.queue.empty()) return false;
  if (lane.free.empty()) return get_slab(lock, lane);
  Load& load = *lane.free.back();
  lane.free.pop_back();
  const bool alone = lane.used() == 1;
  while (!lane.queue.empty() && !(alone && load.filled >= kEagerBytes)) {
    const std::shared_ptr<Request> request = lane.queue.front();
    if (request->has_more()) {
      if (!load.takes(*request)) break;
      (void)load.add(request);
    }
    if (!request->has_more()) lane.queue.pop_front();
  }
  send(lock, lane, load);
  return true;
}

bool DevicePool::store_piece(Lock& lock, Lane& lane) {
  const auto which = std::ranges::find_if(
      lane.landed, [](const Load* load) { return load->parts[load->next].piece.request->may_hold(); });
  if (which == lane.landed.end()) return false;
  Load& load = **which;
  Part& part = load.parts[load.next++];
  if (load.next == load.parts.size()) lane.landed.erase(which);
  const std::shared_ptr<Request> request = part.piece.request;
  const bool failed = request->has_failed();
  request->hold();
  ++load.moving;
  lock.unlock();
  if (!failed && part.status) move(load, part);
  lock.lock();
  request->let_go();
  if (!part.status) request->fail(copied(part.status));
  if (--load.moving == 0 && load.next == load.parts.size()) finish(lock, lane, load);
  return true;
}

void DevicePool::send(Lock& lock, Lane& lane, Load& load) {
  load.closed = true;
  if (lane.open == &load) lane.open = nullptr;
  lock.unlock();
  std::array<Copy, kMaxParts> room;
  Backend& backend = *find_backend(lane.device.type);
  const std::span<const Copy> copies = load.copies(lane.direction, backend, room);
  if (!copies.empty()) {
    const Status sent =
        guarded([&] { return backend.copy_many_async(copies, lane.device.index, lane.stream->native()); });
    auto mark = guarded([&] { return Event::record(*lane.stream); });
    if (mark)
      load.there = *std::move(mark);
    else
      (void)lane.stream->synchronize();  // nothing may be on its way when the error is told
    if (!sent)
      load.fail(sent);
    else if (!mark)
      load.fail(std::move(mark).error());
  }
  lock.lock();
  if (load.there)
    lane.on_bus.push_back(&load);
  else
    finish(lock, lane, load);
}

bool DevicePool::collect(Lock& lock, Lane& lane, Wait wait) {
  if (lane.on_bus.empty() || lane.collecting) return false;
  lane.collecting = true;
  Load& load = *lane.on_bus.front();
  lock.unlock();
  bool there = true;
  if (wait == Wait::no) {
    const Result<bool> done = load.there->done();
    there = !done || *done;
  }
  if (there) {
    const Status status = load.there->synchronize();
    load.there.reset();
    if (!status) load.fail(status);
  }
  lock.lock();
  lane.collecting = false;
  if (!there) return false;
  lane.on_bus.erase(lane.on_bus.begin());
  const bool is_well = std::ranges::any_of(load.parts, [](const Part& part) { return part.status.has_value(); });
  if (lane.direction == Direction::read || !is_well) {
    finish(lock, lane, load);
  } else {
    lane.landed.push_back(&load);
    wake(load.parts.size());
  }
  return true;
}

void DevicePool::finish(Lock& lock, Lane& lane, Load& load) {
  // Told when the slab is in use again.  What is told may come back here, where no thread was to be had.
  thread_local std::vector<Part> room;
  std::vector<Part> told = std::exchange(room, {});
  told.reserve(kMaxParts);
  told.swap(load.parts);
  load.empty();
  const bool starves = std::ranges::any_of(lanes_, [&](const auto& one) { return one->starves(); });
  if (starves) {
    load.slab.release();
    --slabs_;
  }
  (starves ? lane.bare : lane.free).push_back(&load);
  std::size_t over = 0;
  for (Part& part : told) {
    if (part.piece.request->ended(std::move(part.status), part.seconds))
      ++over;
    else
      part.piece.request.reset();
  }
  wake(kLoads);
  if (over > 0) {
    lock.unlock();
    for (const Part& part : told)
      if (part.piece.request) part.piece.request->conclude();
    told.clear();
    lock.lock();
    if ((requests_ -= over) == 0) idle_.notify_all();
  }
  told.clear();
  room = std::move(told);
}

void DevicePool::conclude(Lock& lock, const std::shared_ptr<Request>& request) {
  lock.unlock();
  request->conclude();
  lock.lock();
  if (--requests_ == 0) idle_.notify_all();
}

Result<std::optional<Slab>> DevicePool::new_slab(Lane& lane, const CancelToken& stop, bool may_wait) {
  return guarded([&]() -> Result<std::optional<Slab>> {
    if (!lane.stream) {
      PENSTOCK_ASSIGN(lane.stream, Stream::create(lane.device));
    }
    PENSTOCK_ASSIGN(const auto ring, shared_pinned_ring(lane.device.type));
    PENSTOCK_ASSIGN(const std::uint64_t bytes, slab_bytes_of(lane.device.type));
    if (!may_wait) return ring->try_acquire(bytes);
    PENSTOCK_ASSIGN(Slab slab, ring->acquire(bytes, stop));
    return std::optional(std::move(slab));
  });
}

bool DevicePool::get_slab(Lock& lock, Lane& lane) {
  if (lane.getting || lane.bare.empty() || (lane.enough && !lane.starves())) return false;
  const std::shared_ptr<Request> request = lane.queue.front();
  // Who waits must hold nothing that others wait for.
  const bool may_wait = slabs_ == 0;
  lane.getting = true;
  ++slabs_;
  lock.unlock();
  auto slab = new_slab(lane, request->order().stop, may_wait);
  lock.lock();
  lane.getting = false;
  if (slab && *slab) {
    Load& load = *lane.bare.back();
    lane.bare.pop_back();
    load.slab = **std::move(slab);
    lane.free.push_back(&load);
    wake(kLoads);
    return true;
  }
  --slabs_;
  lane.enough = true;
  if (!lane.starves()) return false;
  if (slab) {  // others have all of it
    release_slabs(lock);
    return false;
  }
  request->fail(std::move(slab).error());
  if (request->is_over()) conclude(lock, request);
  return true;
}

void DevicePool::release_slabs(Lock& lock) {
  std::vector<Slab> released;
  for (const auto& lane : lanes_) {
    lane->enough = false;
    for (Load* load : lane->free) {
      released.push_back(std::move(load->slab));
      lane->bare.push_back(load);
    }
    slabs_ -= lane->free.size();
    lane->free.clear();
  }
  lock.unlock();
  released.clear();
  lock.lock();
}

}  // namespace penstock::io
