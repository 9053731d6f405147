// Random numbers by counter: Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3").
#pragma once
#include <cstdint>

#include "device/portable.hpp"

namespace penstock::tracto {

struct Philox {
  std::uint32_t word[4];
};

PENSTOCK_HD std::uint32_t mul_high(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(a) * b) >> 32);
}

/// The four words of one counter under one key.
PENSTOCK_HD Philox philox(Philox counter, std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint32_t high0 = mul_high(0xD2511F53u, counter.word[0]), low0 = 0xD2511F53u * counter.word[0];
    const std::uint32_t high1 = mul_high(0xCD9E8D57u, counter.word[2]), low1 = 0xCD9E8D57u * counter.word[2];
    counter = {{high1 ^ counter.word[1] ^ key0, low1, high0 ^ counter.word[3] ^ key1, low0}};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

/// What a number is drawn for; its place among the counters.
struct DrawKey {
  std::uint32_t random_seed[2];
  std::uint64_t seed_number;  ///< below 2^48
  std::uint32_t peak;         ///< 0 to 255
  std::uint32_t half;         ///< 0 and 1: of a streamline; 2: where the seed lies; 3: where it begins
};
inline constexpr std::uint32_t kSeedHalf = 2, kBeginHalf = 3;
PENSTOCK_HD Philox draw(const DrawKey& key, std::uint32_t step, std::uint32_t number) {
  const Philox counter = {{static_cast<std::uint32_t>(key.seed_number),
                           static_cast<std::uint32_t>(key.seed_number >> 32) << 16 | key.peak << 8 | key.half, step,
                           number}};
  return philox(counter, key.random_seed[0], key.random_seed[1]);
}

/// In [0, 1), a multiple of 2^-24: exact in float32.
PENSTOCK_HD float unit_float(std::uint32_t word) { return static_cast<float>(word >> 8) * (1.0f / 16777216.0f); }

}  // namespace penstock::tracto
