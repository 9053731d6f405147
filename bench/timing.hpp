// Times and sizes, as the benchmarks take and name them.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

namespace penstock::bench {

using Clock = std::chrono::steady_clock;
inline constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * kKiB;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The upper one of the two in the middle, where there are two.
inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Median seconds of `runs` runs after one to warm up.
inline double median_seconds(int runs, const std::function<void()>& work) {
  std::vector<double> times;
  for (int i = 0; i <= runs; ++i) {
    const auto start = Clock::now();
    work();
    if (i > 0) times.push_back(seconds_since(start));
  }
  return median(std::move(times));
}

}  // namespace penstock::bench
