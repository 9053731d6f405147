// What a process has one of, and its forked children one of their own.
#pragma once
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace penstock::io {

/// Forks between the process that loaded the library and this one: tells them apart without a system call.
inline std::uint32_t forks() {
  static std::atomic<std::uint32_t> count{0};
  static const int watched = ::pthread_atfork(nullptr, nullptr, [] { ++count; });
  (void)watched;
  return count.load(std::memory_order_relaxed);
}

/// The T of this process, made at the first call.  Never destroyed: its threads live as long as the process.  A child
/// of a fork has none of them, and its parent's locks may be held by threads that are not here: it gets a T of its own.
template <class T>
T& of_this_process() {
  static std::atomic<T*> mine{};
  static const int watched = ::pthread_atfork(nullptr, nullptr, [] { mine.store(nullptr); });
  (void)watched;
  T* one = mine.load(std::memory_order_acquire);
  if (one != nullptr) return *one;
  auto made = std::make_unique<T>();
  if (mine.compare_exchange_strong(one, made.get())) return *made.release();
  return *one;
}

}  // namespace penstock::io
