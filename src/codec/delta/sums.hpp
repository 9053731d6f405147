// Differences of integers summed by a team: every lane sums a piece, then goes over it again from where the pieces
// before it end.
#pragma once
#include <cstdint>

#include "codec/astype/scalar.hpp"
#include "codec/status.hpp"

namespace penstock::delta {

template <std::uint32_t kLanes>
struct Shared {
  std::uint64_t sum[kLanes];
};

/// Decodes a chunk of differences stored as `from` to integers of `to`, which wrap.
template <class Team>
PENSTOCK_HD ChunkStatus decode_chunk(const Team& team, const DecodeTask& task, ScalarType from, ScalarType to,
                                     Shared<Team::lanes>& shared) {
  const std::uint64_t n = task.out_bytes / to.bytes;
  const ChunkStatus result = check_size(task, n * from.bytes);
  if (result.status != DecodeStatus::ok) return result;
  const auto* const in = assume_global(reinterpret_cast<const std::uint8_t*>(task.in));
  auto* const out = assume_global(reinterpret_cast<std::uint8_t*>(task.out));
  const std::uint64_t each = (n + Team::lanes - 1) / Team::lanes;
  const auto begin = [&](std::uint32_t lane) { return lane * each < n ? lane * each : n; };
  team.each_lane([&](std::uint32_t lane) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = begin(lane); i < begin(lane + 1); ++i) sum += from.load_integer(in + i * from.bytes);
    shared.sum[lane] = sum;
  });
  team.each_lane([&](std::uint32_t lane) {
    if (lane != 0) return;
    std::uint64_t before = 0;
    for (std::uint32_t k = 0; k < Team::lanes; ++k) {
      const std::uint64_t sum = shared.sum[k];
      shared.sum[k] = before;
      before += sum;
    }
  });
  team.each_lane([&](std::uint32_t lane) {
    std::uint64_t sum = shared.sum[lane];
    for (std::uint64_t i = begin(lane); i < begin(lane + 1); ++i) {
      sum += from.load_integer(in + i * from.bytes);
      to.store_bits(out + i * to.bytes, sum);
    }
  });
  return result;
}

}  // namespace penstock::delta
