#include "core/backoff.hpp"

#include <algorithm>
#include <cstdint>
#include <random>

namespace penstock {

std::chrono::milliseconds backoff(int failed, std::chrono::milliseconds first, std::chrono::milliseconds most) {
  static thread_local std::minstd_rand random{std::random_device{}()};
  const std::int64_t wait = std::min(most, first * (std::int64_t{1} << std::clamp(failed - 1, 0, 16))).count();
  std::uniform_int_distribution<std::int64_t> chance(wait / 2, wait);
  return std::chrono::milliseconds(chance(random));
}

}  // namespace penstock
