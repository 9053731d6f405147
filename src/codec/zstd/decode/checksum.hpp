// Pass 4: the checksums behind frames, the low 32 bits of XXH64 with seed 0 (RFC 8878, 3.1.1;
// github.com/Cyan4973/xxHash, doc/xxhash_spec.md).  One warp a chunk; nothing to do for chunks without.
#pragma once
#include "codec/zstd/decode/parse.hpp"

namespace penstock::zstd {

inline constexpr std::uint64_t kXxh1 = 0x9E3779B185EBCA87, kXxh2 = 0xC2B2AE3D27D4EB4F, kXxh3 = 0x165667B19E3779F9,
                               kXxh4 = 0x85EBCA77C2B2AE63, kXxh5 = 0x27D4EB2F165667C5;
inline constexpr std::uint32_t kXxhLanes = 4, kStripeBytes = 32;

/// Shared memory of a team of Lanes: what they load at a time, 16 bytes each.
template <std::uint32_t Lanes>
struct ChecksumShared {
  static_assert(Lanes * 16 >= kStripeBytes);
  static constexpr std::uint32_t kBytes = Lanes * 16;
  Bytes16 data[Lanes];
  std::uint64_t lane[kXxhLanes];
  std::uint32_t result;
};

PENSTOCK_HD std::uint64_t rotate_left(std::uint64_t value, int bits) { return value << bits | value >> (64 - bits); }
PENSTOCK_HD std::uint64_t xxh_round(std::uint64_t lane, std::uint64_t input) {
  return rotate_left(lane + input * kXxh2, 31) * kXxh1;
}

/// The last `n` bytes, fewer than a stripe, and what makes of the four lanes a number; by one lane.
PENSTOCK_HD std::uint64_t xxh_finish(const std::uint64_t* lane, const std::uint8_t* rest, std::uint64_t total) {
  std::uint64_t h = kXxh5;
  if (total >= kStripeBytes) {
    h = rotate_left(lane[0], 1) + rotate_left(lane[1], 7) + rotate_left(lane[2], 12) + rotate_left(lane[3], 18);
    for (std::uint32_t k = 0; k < kXxhLanes; ++k) h = (h ^ xxh_round(0, lane[k])) * kXxh1 + kXxh4;
  }
  h += total;
  const auto read = [&rest](std::uint32_t bytes) {
    std::uint64_t value = 0;
    for (std::uint32_t k = 0; k < bytes; ++k) value |= static_cast<std::uint64_t>(*rest++) << (8 * k);
    return value;
  };
  auto n = static_cast<std::uint32_t>(total % kStripeBytes);
  for (; n >= 8; n -= 8) h = rotate_left(h ^ xxh_round(0, read(8)), 27) * kXxh1 + kXxh4;
  if (n >= 4) {
    h = rotate_left(h ^ read(4) * kXxh1, 23) * kXxh2 + kXxh3;
    n -= 4;
  }
  for (; n > 0; --n) h = rotate_left(h ^ read(1) * kXxh5, 11) * kXxh1;
  h = (h ^ h >> 33) * kXxh2;
  h = (h ^ h >> 29) * kXxh3;
  return h ^ h >> 32;
}

/// 16 bytes at any address.
PENSTOCK_HD Bytes16 load_any(const std::uint8_t* from) {
  if (misalignment(from, 16) == 0) return load_aligned<Bytes16>(from);
  Bytes16 value = {};
  for (std::uint32_t k = 0; k < 16; ++k) value.word[k / 4] |= static_cast<std::uint32_t>(from[k]) << (8 * (k % 4));
  return value;
}

/// The checksum of `n` bytes, uniform.  Its four chains are all that can run side by side; the other lanes load.
template <class Team, std::uint32_t Lanes>
PENSTOCK_HD std::uint32_t frame_checksum(const Team& team, const std::uint8_t* data, std::uint64_t n,
                                         ChecksumShared<Lanes>& shared) {
  static_assert(Team::lanes == Lanes);
  auto chains = team.map([](std::uint32_t lane) {
    return lane == 0 ? kXxh1 + kXxh2 : lane == 1 ? kXxh2 : lane == 2 ? 0 : 0 - kXxh1;
  });
  const std::uint64_t whole = n / kStripeBytes * kStripeBytes;
  for (std::uint64_t at = 0; at < whole; at += shared.kBytes) {
    const auto bytes = static_cast<std::uint32_t>(whole - at < shared.kBytes ? whole - at : shared.kBytes);
    team.for_each(bytes / 16, [&](std::uint32_t i) { shared.data[i] = load_any(data + at + 16 * i); });
    team.each_lane([&](std::uint32_t lane) {
      if (lane >= kXxhLanes) return;
      std::uint64_t chain = Team::at(chains, lane);
      for (std::uint32_t s = 0; s < bytes / kStripeBytes; ++s) {
        const std::uint32_t* words = shared.data[2 * s + lane / 2].word + 2 * (lane % 2);
        chain = xxh_round(chain, words[0] | static_cast<std::uint64_t>(words[1]) << 32);
      }
      Team::at(chains, lane) = chain;
    });
  }
  team.each_lane([&](std::uint32_t lane) {
    if (lane < kXxhLanes) shared.lane[lane] = Team::at(chains, lane);
  });
  team.each_lane([&](std::uint32_t lane) {
    if (lane == 0) shared.result = static_cast<std::uint32_t>(xxh_finish(shared.lane, data + whole, n));
  });
  return shared.result;
}

/// Compares the checksums of a chunk's frames, once they are decoded.
template <class Team, class Shared>
PENSTOCK_HD void verify_chunk(const Team& team, const Workspace& ws, std::uint32_t slice, std::uint32_t chunk,
                              Shared& shared) {
  const ChunkState& state = ws.states[chunk];
  if (state.checksums == 0 || ws.checksums == Checksums::ignore || !ws.in_slice(state, slice)) return;
  const auto* output = reinterpret_cast<const std::uint8_t*>(state.task.out);
  const BlockRecord* block = ws.blocks + (state.first_page - ws.slice_begin(slice));
  std::uint32_t begin = 0, end = 0;
  for (std::uint32_t i = 0; i < state.blocks; ++i) {
    if ((block[i].flags & kFirstBlock) != 0) begin = end;
    end += block[i].output;
    if ((block[i].flags & kChecksumFollows) == 0) continue;
    const std::uint32_t position = block[i].begin + block[i].bytes;
    if (frame_checksum(team, output + begin, end - begin, shared) == ws.input(chunk).little(position, 4)) continue;
    team.each_lane([&](std::uint32_t lane) {
      if (lane == 0) report(ws, chunk, {DecodeStatus::bad_checksum, position}, end);
    });
    return;
  }
}

}  // namespace penstock::zstd
