// Choosing by weights that are whole numbers: their sum is the same in any order.
#pragma once
#include "device/portable.hpp"
#include "device/team.hpp"
#include "tracto/random.hpp"

namespace penstock::tracto {

/// Weights are at most this: 1024 of them fit in 32 bits.
inline constexpr float kFullWeight = 2097152.0f;

/// Number i with a chance of weight[i] in their sum, by a random word; n when all are 0.  Never one of weight 0.
template <class Team>
PENSTOCK_HD std::uint32_t choose(const Team& team, const std::uint32_t* weight, std::uint32_t n, std::uint32_t word) {
  const std::uint32_t each = (n + Team::lanes - 1) / Team::lanes;  // a lane has neighbours, so that the order is theirs
  auto sum = team.map([&](std::uint32_t lane) {
    std::uint32_t s = 0;
    for (std::uint32_t i = lane * each; i < (lane + 1) * each && i < n; ++i) s += weight[i];
    return s;
  });
  auto up_to = team.inclusive_sum(sum);
  const std::uint32_t total = team.broadcast(up_to, Team::lanes - 1);
  if (total == 0) return n;
  const std::uint32_t target = mul_high(word, total);
  auto beyond = team.map([&](std::uint32_t lane) { return team.at(up_to, lane) > target; });
  const std::uint32_t holder = team.first(beyond);
  std::uint32_t before = team.broadcast(up_to, holder) - team.broadcast(sum, holder);
  std::uint32_t i = holder * each;
  while (before + weight[i] <= target) before += weight[i++];
  return i;
}

/// The same without lanes, for a compiler to make vectors of.
template <int N>
std::uint32_t choose(const HostTeam<N>&, const std::uint32_t* weight, std::uint32_t n, std::uint32_t word) {
  constexpr std::uint32_t kRun = 32, kMaxRuns = 1024 / kRun;
  std::uint32_t run[kMaxRuns + 1] = {}, total = 0, i = 0;
  const std::uint32_t whole = n / kRun;
  for (std::uint32_t r = 0; r < whole; ++r) {
    std::uint32_t s = 0;
    for (std::uint32_t k = 0; k < kRun; ++k) s += weight[r * kRun + k];
    run[r] = s;
  }
  for (i = whole * kRun; i < n; ++i) run[whole] += weight[i];
  for (std::uint32_t r = 0; r <= whole; ++r) total += run[r];
  if (total == 0) return n;
  const std::uint32_t target = mul_high(word, total);
  std::uint32_t before = 0, r = 0;
  while (before + run[r] <= target) before += run[r++];
  i = r * kRun;
  while (before + weight[i] <= target) before += weight[i++];
  return i;
}

}  // namespace penstock::tracto
