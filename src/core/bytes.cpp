#include "penstock/bytes.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <utility>

#include "core/pages.hpp"
#include "core/units.hpp"

namespace penstock {
namespace {

constexpr std::size_t kAlign = 64;
std::atomic<std::uint64_t> g_in_use{0};
std::atomic<std::uint64_t> g_peak{0};

void account(std::uint64_t bytes) {
  const std::uint64_t now = g_in_use.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::uint64_t peak = g_peak.load(std::memory_order_relaxed);
  while (now > peak && !g_peak.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

}  // namespace

std::uint64_t host_bytes_in_use() { return g_in_use.load(std::memory_order_relaxed); }
std::uint64_t host_bytes_peak() { return g_peak.load(std::memory_order_relaxed); }
void reset_host_bytes_peak() { g_peak.store(host_bytes_in_use(), std::memory_order_relaxed); }

Bytes::Bytes(Bytes&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      capacity_(std::exchange(other.capacity_, 0)) {}

Bytes& Bytes::operator=(Bytes&& other) noexcept {
  if (this != &other) {
    release();
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
  }
  return *this;
}

Bytes::~Bytes() { release(); }

void Bytes::release() {
  give_memory(data_, capacity_);
  g_in_use.fetch_sub(capacity_, std::memory_order_relaxed);
  data_ = nullptr;
  size_ = capacity_ = 0;
}

Status Bytes::reallocate(std::uint64_t capacity, bool keep) {
  if (capacity > std::numeric_limits<std::size_t>::max() / 2)
    return Error(ErrorCode::out_of_memory, "cannot allocate " + format_bytes(capacity));
  const std::uint64_t unit = capacity >= 2 * kHugePage ? kHugePage : kAlign;  // all of the pages that it takes
  const std::uint64_t rounded = (capacity + unit - 1) / unit * unit;
  std::byte* const fresh = take_memory(rounded, kAlign);
  if (fresh == nullptr) return Error(ErrorCode::out_of_memory, "cannot allocate " + format_bytes(capacity));
  if (keep && size_ > 0) std::memcpy(fresh, data_, size_);
  const std::size_t size = keep ? size_ : 0;
  release();
  data_ = fresh;
  size_ = size;
  capacity_ = rounded;
  account(rounded);
  return {};
}

Status Bytes::resize(std::uint64_t bytes) {
  if (bytes > capacity_) PENSTOCK_TRY(reallocate(std::max<std::uint64_t>(bytes, capacity_ + capacity_ / 2), true));
  size_ = bytes;
  return {};
}

Status Bytes::resize_discard(std::uint64_t bytes) {
  if (bytes > capacity_) PENSTOCK_TRY(reallocate(bytes, false));
  size_ = bytes;
  return {};
}

Status Bytes::append(ByteView more) {
  const std::size_t at = size_;
  PENSTOCK_TRY(resize(at + more.size()));
  if (!more.empty()) std::memcpy(data_ + at, more.data(), more.size());
  return {};
}

Result<Bytes> Bytes::copy_of(ByteView bytes) {
  Bytes out;
  PENSTOCK_TRY(out.append(bytes));
  return out;
}

ByteView Arena::keep(Bytes block) {
  const std::scoped_lock lock(mutex_);
  blocks_.push_back(std::move(block));
  return blocks_.back().view();
}

}  // namespace penstock
