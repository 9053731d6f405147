// Copies by a whole team.
#pragma once
#include <cstdint>

#include "device/portable.hpp"

namespace penstock {

/// Copies `n` bytes; the ranges do not overlap.  Long ones move 16 bytes a lane, whatever the alignment of the source.
template <class Team>
PENSTOCK_HD void team_copy(const Team& team, std::uint8_t* to, const std::uint8_t* from, std::uint32_t n) {
  constexpr std::uint32_t kLong = 16 * Team::lanes;
  if (n <= Team::lanes) {
    team.for_each(n, [&](std::uint32_t i) { to[i] = from[i]; });
    return;
  }
  if (n < kLong) {
    team.template for_each_batched<4>(
        n, [&](std::uint32_t i) { return from[i]; }, [&](std::uint32_t i, std::uint8_t byte) { to[i] = byte; });
    return;
  }
  // The body starts at a multiple of 16 in the target.  Sources are read as aligned words, which may reach up to 3
  // bytes beyond the wanted ones: a head of 16 or more and a tail of 4 or more keep that inside the range.
  const std::uint32_t head = 16 + static_cast<std::uint32_t>((0 - reinterpret_cast<std::uintptr_t>(to)) & 15);
  const std::uint32_t blocks = (n - head - 4) / 16;
  const std::uint32_t done = head + blocks * 16;
  const std::uint8_t* body = from + head;
  const auto skew = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(body) & 15);
  team.for_each(head + (n - done), [&](std::uint32_t i) {
    const std::uint32_t at = i < head ? i : done + (i - head);
    to[at] = from[at];
  });
  if (skew == 0) {
    team.template for_each_batched<4>(
        blocks, [&](std::uint32_t i) { return load_aligned<Bytes16>(body + 16 * std::uint64_t{i}); },
        [&](std::uint32_t i, Bytes16 block) { store_aligned(to + head + 16 * std::uint64_t{i}, block); });
    return;
  }
  const std::uint32_t shift = skew % 4 * 8;
  const std::uint8_t* words = body - skew % 4;
  team.template for_each_batched<2>(
      blocks,
      [&](std::uint32_t i) {
        const std::uint8_t* at = words + 16 * std::uint64_t{i};
        std::uint32_t low = load_aligned<std::uint32_t>(at);
        Bytes16 block;
        PENSTOCK_UNROLL
        for (int k = 0; k < 4; ++k) {
          const std::uint32_t high = shift == 0 && k == 3 ? 0 : load_aligned<std::uint32_t>(at + 4 * k + 4);
          block.word[k] = shift_right(low, high, shift);
          low = high;
        }
        return block;
      },
      [&](std::uint32_t i, Bytes16 block) { store_aligned(to + head + 16 * std::uint64_t{i}, block); });
}

/// Writes `n` bytes at `to` that repeat the `period` bytes in front of it, which may be fewer.
template <class Team>
PENSTOCK_HD void team_repeat(const Team& team, std::uint8_t* to, std::uint32_t period, std::uint32_t n) {
  const std::uint8_t* from = to - period;
  if (period >= n) return team_copy(team, to, from, n);
  // Whole periods, then what is there is copied behind itself, twice as much each time.
  constexpr std::uint32_t kFirst = 16 * Team::lanes;
  std::uint32_t made = period >= kFirst ? period : period * ((kFirst + period - 1) / period);
  if (made > n) made = n;
  team.for_each(made, [&](std::uint32_t i) { to[i] = from[i % period]; });
  while (made < n) {
    const std::uint32_t more = made < n - made ? made : n - made;
    team_copy(team, to + made, to, more);
    made += more;
  }
}

}  // namespace penstock
