#include "device/pinned_ring.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <map>
#include <utility>

#include "core/guard.hpp"
#include "core/settings.hpp"
#include "core/units.hpp"

namespace penstock {
namespace {

constexpr std::uint64_t kSmallestSlab = std::uint64_t{1} << 20;
// A CancelToken and an Event cannot wake a waiter; it looks for itself this often.
constexpr std::chrono::milliseconds kCancelPoll{20};
constexpr std::chrono::microseconds kEventPoll{50};

/// Rounded up to one of four sizes per power of two, so that slabs of similar requests can be reused.
std::uint64_t slab_size(std::uint64_t bytes, std::uint64_t capacity) {
  if (bytes <= kSmallestSlab) return std::min(kSmallestSlab, capacity);
  const std::uint64_t step = std::bit_floor(bytes) / 4;
  return std::min((bytes + step - 1) / step * step, capacity);
}

}  // namespace

Slab::Slab(Slab&& other) noexcept
    : ring_(std::move(other.ring_)), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Slab& Slab::operator=(Slab&& other) noexcept {
  if (this != &other) {
    release();
    ring_ = std::move(other.ring_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

void Slab::release() {
  if (data_ != nullptr) ring_->give_back({std::exchange(data_, nullptr), std::exchange(size_, 0)});
  ring_.reset();
}

void Slab::release_after(Event event) {
  if (data_ != nullptr)
    ring_->give_back_after({std::exchange(data_, nullptr), std::exchange(size_, 0)}, std::move(event));
  ring_.reset();
}

std::shared_ptr<PinnedRing> PinnedRing::create(Backend& backend, std::uint64_t capacity_bytes) {
  return std::shared_ptr<PinnedRing>(new PinnedRing(backend, capacity_bytes));
}

PinnedRing::~PinnedRing() {
  for (const Pending& pending : pending_) {
    (void)pending.event.synchronize();  // an error here reaches whoever recorded the event
    backend_.free_pinned(pending.block.data);
  }
  for (const Block& block : free_) backend_.free_pinned(block.data);
}

std::uint64_t PinnedRing::allocated_bytes() const {
  const std::scoped_lock lock(mutex_);
  return allocated_;
}

std::uint64_t PinnedRing::loaned_bytes() const {
  const std::scoped_lock lock(mutex_);
  return loaned_;
}

void PinnedRing::give_back(Block block) {
  const std::scoped_lock lock(mutex_);
  loaned_ -= block.size;
  free_.push_back(block);
  changed_.notify_all();
}

void PinnedRing::give_back_after(Block block, Event event) {
  const std::scoped_lock lock(mutex_);
  loaned_ -= block.size;
  pending_.push_back({block, std::move(event)});
  changed_.notify_all();
}

/// Moves slabs whose work is done to the free ones.  Locked by the caller.
Status PinnedRing::collect_pending() {
  for (auto it = pending_.begin(); it != pending_.end();) {
    PENSTOCK_ASSIGN(const bool done, it->event.done());
    if (done) {
      free_.push_back(it->block);
      it = pending_.erase(it);
    } else {
      ++it;
    }
  }
  return {};
}

/// The smallest free slab that is large enough, unless it is more than twice the size.  Locked by the caller.
PinnedRing::Block PinnedRing::take_free(std::uint64_t bytes) {
  auto best = free_.end();
  for (auto it = free_.begin(); it != free_.end(); ++it)
    if (it->size >= bytes && (best == free_.end() || it->size < best->size)) best = it;
  if (best == free_.end() || best->size / 2 > slab_size(bytes, capacity_)) return {};
  const Block block = *best;
  free_.erase(best);
  return block;
}

/// Counts `bytes` as allocated when they fit, giving up free slabs of other sizes if needed.  Locked by the caller.
bool PinnedRing::make_room(std::uint64_t bytes, std::vector<Block>& evicted) {
  std::uint64_t free_bytes = 0;
  for (const Block& block : free_) free_bytes += block.size;
  if (allocated_ - free_bytes + bytes > capacity_) return false;
  evicted.reserve(free_.size());
  free_.reserve(slabs_ + 1);
  pending_.reserve(slabs_ + 1);
  while (allocated_ + bytes > capacity_) {
    evicted.push_back(free_.back());
    allocated_ -= free_.back().size;
    free_.pop_back();
    slabs_ -= 1;
  }
  slabs_ += 1;
  allocated_ += bytes;
  loaned_ += bytes;
  return true;
}

/// nullopt: nothing is free.  Locked by the caller.
Result<std::optional<PinnedRing::Reserved>> PinnedRing::reserve(std::uint64_t bytes) {
  PENSTOCK_TRY(collect_pending());
  if (const Block block = take_free(bytes); block.data != nullptr) {
    loaned_ += block.size;
    return std::optional(Reserved{block, {}});
  }
  Reserved made{{nullptr, slab_size(bytes, capacity_)}, {}};
  if (!make_room(made.block.size, made.evicted)) return std::optional<Reserved>();
  return std::optional(std::move(made));
}

/// Not locked.
Result<Slab> PinnedRing::make_slab(const Reserved& reserved) {
  const std::uint64_t bytes = reserved.block.size;
  if (reserved.block.data != nullptr) return Slab(shared_from_this(), reserved.block.data, bytes);
  for (const Block& block : reserved.evicted) backend_.free_pinned(block.data);
  Result<void*> data = backend_.allocate_pinned(bytes);
  if (!data) {
    const std::scoped_lock lock(mutex_);
    slabs_ -= 1;
    allocated_ -= bytes;
    loaned_ -= bytes;
    changed_.notify_all();
    return std::move(data).error();
  }
  return Slab(shared_from_this(), static_cast<std::byte*>(*data), bytes);
}

Status PinnedRing::check_fits(std::uint64_t bytes) const {
  if (bytes <= capacity_) return {};
  return Error(ErrorCode::budget_too_small, "a piece of " + format_bytes(bytes) +
                                                " does not fit in the staging memory of " + format_bytes(capacity_))
      .set_hint("set PENSTOCK_PINNED to at least this size");
}

Result<Slab> PinnedRing::acquire(std::uint64_t bytes, const CancelToken& cancel) {
  PENSTOCK_TRY(check_fits(bytes));
  std::unique_lock lock(mutex_);
  const auto me = waiting_.insert(waiting_.end(), 0);
  const auto reserved = guarded([&]() -> Result<Reserved> {
    for (;;) {
      PENSTOCK_TRY(cancel.check("waiting for staging memory"));
      if (waiting_.begin() == me) {
        PENSTOCK_ASSIGN(std::optional<Reserved> now, reserve(bytes));
        if (now) return *std::move(now);
      }
      if (waiting_.begin() == me && !pending_.empty())
        changed_.wait_for(lock, kEventPoll);
      else
        changed_.wait_for(lock, kCancelPoll);
    }
  });
  waiting_.erase(me);  // whatever happened: an entry left in front would block all others for ever
  changed_.notify_all();
  if (!reserved) return reserved.error();
  lock.unlock();
  return make_slab(*reserved);
}

Result<std::optional<Slab>> PinnedRing::try_acquire(std::uint64_t bytes) {
  PENSTOCK_TRY(check_fits(bytes));
  std::unique_lock lock(mutex_);
  if (!waiting_.empty()) return std::optional<Slab>();
  PENSTOCK_ASSIGN(const std::optional<Reserved> reserved, reserve(bytes));
  if (!reserved) return std::optional<Slab>();
  lock.unlock();
  PENSTOCK_ASSIGN(Slab slab, make_slab(*reserved));
  return std::optional(std::move(slab));
}

Result<std::shared_ptr<PinnedRing>> shared_pinned_ring(Device::Type type) {
  Backend* backend = find_backend(type);
  if (backend == nullptr) return Error(ErrorCode::no_device, cuda_unavailable_reason());
  if (std::string reason = backend->unavailable_reason(); !reason.empty())
    return Error(ErrorCode::no_device, std::move(reason));
  PENSTOCK_ASSIGN(const std::uint64_t capacity, default_pinned_bytes());
  // Never destroyed: at exit the device's driver may already be gone.
  static std::mutex& mutex = *new std::mutex;
  static auto& rings = *new std::map<Device::Type, std::shared_ptr<PinnedRing>>;
  const std::scoped_lock lock(mutex);
  std::shared_ptr<PinnedRing>& ring = rings[type];
  if (ring == nullptr) ring = PinnedRing::create(*backend, capacity);
  return ring;
}

}  // namespace penstock
