// Bytes handed out by a Memory, never more than a cap.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>

namespace penstock {

/// Lock-free; a cap of 0 means none.
class CappedCounter {
 public:
  explicit CappedCounter(std::uint64_t cap_bytes) : cap_(cap_bytes) {}

  /// Counts `bytes`, or returns false and counts nothing when the cap would be passed.
  [[nodiscard]] bool take(std::uint64_t bytes) {
    std::uint64_t now = in_use_.load(std::memory_order_relaxed);
    std::uint64_t then = 0;
    do {
      if (__builtin_add_overflow(now, bytes, &then) || (cap_ != 0 && then > cap_)) return false;
    } while (!in_use_.compare_exchange_weak(now, then, std::memory_order_relaxed));
    std::uint64_t peak = peak_.load(std::memory_order_relaxed);
    while (then > peak && !peak_.compare_exchange_weak(peak, then, std::memory_order_relaxed)) {
    }
    return true;
  }
  void give(std::uint64_t bytes) { in_use_.fetch_sub(bytes, std::memory_order_relaxed); }

  [[nodiscard]] std::uint64_t cap() const { return cap_; }
  [[nodiscard]] std::uint64_t in_use() const { return in_use_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t peak() const { return peak_.load(std::memory_order_relaxed); }

 private:
  std::uint64_t cap_;
  std::atomic<std::uint64_t> in_use_{0};
  std::atomic<std::uint64_t> peak_{0};
};

}  // namespace penstock
