// XXH32 with seed 0, by a team (github.com/Cyan4973/xxHash, doc/xxhash_spec.md).
#pragma once
#include <cstdint>

#include "device/portable.hpp"

namespace penstock::lz4_frame {

inline constexpr std::uint32_t kXxh1 = 0x9E3779B1, kXxh2 = 0x85EBCA77, kXxh3 = 0xC2B2AE3D, kXxh4 = 0x27D4EB2F,
                               kXxh5 = 0x165667B1;
inline constexpr std::uint32_t kXxhLanes = 4, kStripeBytes = 16;

/// Shared memory of a team.
struct Xxh32Shared {
  std::uint32_t lane[kXxhLanes];
  std::uint32_t result;
};

PENSTOCK_HD std::uint32_t little32(const std::uint8_t* at) {
  return at[0] | static_cast<std::uint32_t>(at[1]) << 8 | static_cast<std::uint32_t>(at[2]) << 16 |
         static_cast<std::uint32_t>(at[3]) << 24;
}
PENSTOCK_HD std::uint32_t rotate_left(std::uint32_t value, std::uint32_t bits) {
  return shift_left(value, value, bits);
}

/// The sum, once the whole stripes are in the four lanes; `rest`: what is behind them.
PENSTOCK_HD std::uint32_t xxh32_finish(const std::uint32_t* lane, const std::uint8_t* rest, std::uint32_t total) {
  std::uint32_t h = kXxh5;
  if (total >= kStripeBytes)
    h = rotate_left(lane[0], 1) + rotate_left(lane[1], 7) + rotate_left(lane[2], 12) + rotate_left(lane[3], 18);
  h += total;
  std::uint32_t n = total % kStripeBytes;
  for (; n >= 4; n -= 4, rest += 4) h = rotate_left(h + little32(rest) * kXxh3, 17) * kXxh4;
  for (; n > 0; --n, ++rest) h = rotate_left(h + *rest * kXxh5, 11) * kXxh1;
  h = (h ^ h >> 15) * kXxh2;
  h = (h ^ h >> 13) * kXxh3;
  return h ^ h >> 16;
}

/// Of `n` bytes, uniform.  Its four chains are all that can run side by side.
template <class Team>
PENSTOCK_HD std::uint32_t xxh32(const Team& team, const std::uint8_t* data, std::uint32_t n, Xxh32Shared& shared) {
  const std::uint32_t stripes = n / kStripeBytes;
  team.each_lane([&](std::uint32_t lane) {
    if (lane >= kXxhLanes) return;
    std::uint32_t chain = lane == 0 ? kXxh1 + kXxh2 : lane == 1 ? kXxh2 : lane == 2 ? 0 : 0 - kXxh1;
    for (std::uint32_t s = 0; s < stripes; ++s)
      chain = rotate_left(chain + little32(data + kStripeBytes * s + 4 * lane) * kXxh2, 13) * kXxh1;
    shared.lane[lane] = chain;
  });
  team.each_lane([&](std::uint32_t lane) {
    if (lane == 0) shared.result = xxh32_finish(shared.lane, data + kStripeBytes * stripes, n);
  });
  const std::uint32_t sum = shared.result;
  team.each_lane([](std::uint32_t) {});  // all have read it
  return sum;
}

}  // namespace penstock::lz4_frame
