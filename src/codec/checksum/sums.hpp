// Checksums by a team: every lane sums a piece, and the pieces are joined, which is possible because each of the sums
// is linear.  A CRC of a piece that has m bytes behind it counts as itself times x^(8m) modulo the polynomial (Ross
// Williams, "A Painless Guide to CRC Error Detection Algorithms"; zlib's crc32_combine does the same).
// Sources: RFC 1952 section 8 (CRC-32), RFC 3720 appendix B.4 (CRC-32C), RFC 1950 section 9 (Adler-32), HDF5's
// H5_checksum_fletcher32.
#pragma once
#include <cstdint>

#include "codec/device_encoder.hpp"
#include "codec/status.hpp"
#include "device/portable.hpp"
#include "device/team_copy.hpp"

namespace penstock::checksum {

enum class Sum : std::uint32_t { crc32, crc32c, adler32, fletcher32 };

/// a * b modulo the polynomial.  Bit 31 is x^0.
PENSTOCK_HD constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b, std::uint32_t polynomial) {
  std::uint32_t product = 0;
  for (; a != 0; a <<= 1) {
    if ((a >> 31) != 0) product ^= b;
    b = (b & 1) != 0 ? (b >> 1) ^ polynomial : b >> 1;
  }
  return product;
}

/// A polynomial and x^(8 * 2^k) modulo it.
struct Crc {
  static constexpr std::uint32_t kPowers = 40;
  std::uint32_t polynomial = 0;
  std::uint32_t power[kPowers] = {};
  constexpr explicit Crc(std::uint32_t reflected) : polynomial(reflected) {
    power[0] = 1u << (31 - 8);
    for (std::uint32_t k = 1; k < kPowers; ++k) power[k] = multiply(power[k - 1], power[k - 1], reflected);
  }
  /// `crc` as it is when `bytes` zero bytes follow; less than 2^40.
  PENSTOCK_HD std::uint32_t behind(std::uint32_t crc, std::uint64_t bytes) const {
    for (std::uint32_t k = 0; bytes != 0; ++k, bytes >>= 1)
      if ((bytes & 1) != 0) crc = multiply(power[k], crc, polynomial);
    return crc;
  }
};

/// A checksum with what its computation needs; a kernel gets it as a parameter, where it can be indexed quickly.
struct Kind {
  Sum sum;
  Crc crc;
  constexpr explicit Kind(Sum which) : sum(which), crc(which == Sum::crc32c ? 0x82F63B78 : 0xEDB88320) {}
};

/// Memory of the team.
struct Shared {
  std::uint32_t table[4][256];  ///< of byte b followed by k zero bytes
  std::uint64_t first, second;
};

/// The bytes that a lane sums: [begin, end), pieces of a multiple of 16 bytes.
struct Piece {
  std::uint64_t begin, end;
};
template <class Team>
PENSTOCK_HD Piece piece_of(std::uint32_t lane, std::uint64_t n) {
  const std::uint64_t each = ((n + Team::lanes - 1) / Team::lanes + 15) / 16 * 16;
  const std::uint64_t begin = lane * each < n ? lane * each : n;
  return {begin, each < n - begin ? begin + each : n};
}

/// Calls one(byte) and sixteen(Bytes16), which begins at a multiple of 16, for the bytes [from, end) in order.
template <class One, class Sixteen>
PENSTOCK_HD void for_bytes(const std::uint8_t* from, const std::uint8_t* end, One one, Sixteen sixteen) {
  while (from < end && (reinterpret_cast<std::uintptr_t>(from) & 15) != 0) one(*from++);
  for (; end - from >= 16; from += 16) sixteen(load_aligned<Bytes16>(from));
  while (from < end) one(*from++);
}

template <class Team>
PENSTOCK_HD void make_table(const Team& team, std::uint32_t polynomial, Shared& shared) {
  team.for_each(256, [&](std::uint32_t b) {
    std::uint32_t crc = b;
    for (int k = 0; k < 4; ++k) {
      for (int i = 0; i < 8; ++i) crc = (crc & 1) != 0 ? (crc >> 1) ^ polynomial : crc >> 1;
      shared.table[k][b] = crc;
    }
  });
}

/// The CRC of `n` bytes, the same in all lanes.
template <class Team>
PENSTOCK_HD std::uint32_t crc(const Team& team, const Crc& kind, const std::uint8_t* data, std::uint64_t n,
                              Shared& shared) {
  make_table(team, kind.polynomial, shared);
  team.each_lane([&](std::uint32_t lane) {
    if (lane == 0) shared.first = 0;
  });
  auto* const sum = reinterpret_cast<std::uint32_t*>(&shared.first);
  team.each_lane([&](std::uint32_t lane) {
    const Piece piece = piece_of<Team>(lane, n);
    std::uint32_t crc = lane == 0 ? ~0u : 0;
    for_bytes(
        data + piece.begin, data + piece.end,
        [&](std::uint8_t byte) { crc = (crc >> 8) ^ shared.table[0][(crc ^ byte) & 255]; },
        [&](Bytes16 block) {
          PENSTOCK_UNROLL
          for (int k = 0; k < 4; ++k) {
            crc ^= block.word[k];
            crc = shared.table[3][crc & 255] ^ shared.table[2][crc >> 8 & 255] ^ shared.table[1][crc >> 16 & 255] ^
                  shared.table[0][crc >> 24];
          }
        });
    if (crc != 0) atomic_xor(sum, kind.behind(crc, n - piece.end));
  });
  return ~*sum;
}

/// Sums of values and of running sums, of 8-bit or big-endian 16-bit units, both modulo kModulus; each lane's share is
/// joined.  n: at most 2^31; a lane has at most 2^26 bytes, so that 64 bits hold its sums.
template <std::uint32_t kModulus, int kUnit, class Team>
PENSTOCK_HD void running_sums(const Team& team, const std::uint8_t* data, std::uint64_t n, Shared& shared) {
  static_assert(kUnit == 1 || Team::lanes >= 128, "a lane's second sum would not fit");
  team.each_lane([&](std::uint32_t lane) {
    if (lane == 0) shared.first = shared.second = 0;
  });
  team.each_lane([&](std::uint32_t lane) {
    const Piece piece = piece_of<Team>(lane, n);
    std::uint64_t first = 0, second = 0;
    std::uint32_t high = 0;
    std::uint64_t at = piece.begin;
    const auto one = [&](std::uint32_t byte) {
      if constexpr (kUnit == 1) {
        first += byte;
        second += first;
      } else if (at++ % 2 == 0) {
        high = byte << 8;
      } else {
        first += high | byte;
        second += first;
        high = 0;
      }
    };
    for_bytes(data + piece.begin, data + piece.end, one, [&](Bytes16 block) {
      PENSTOCK_UNROLL
      for (int k = 0; k < 16; ++k) one(block.word[k / 4] >> (k % 4 * 8) & 255);
    });
    if (kUnit == 2 && piece.end % 2 != 0) {  // the last byte is the high half of a word
      first += high;
      second += first;
    }
    const std::uint64_t behind = (n + kUnit - 1) / kUnit - (piece.end + kUnit - 1) / kUnit;
    atomic_add(&shared.first, first % kModulus + (first != 0 ? kModulus : 0));
    atomic_add(&shared.second,
               (second + first % kModulus * (behind % kModulus)) % kModulus + (second != 0 ? kModulus : 0));
  });
}

template <class Team>
PENSTOCK_HD std::uint32_t adler32(const Team& team, const std::uint8_t* data, std::uint64_t n, Shared& shared) {
  constexpr std::uint32_t kModulus = 65521;
  running_sums<kModulus, 1>(team, data, n, shared);
  const auto first = static_cast<std::uint32_t>((shared.first + 1) % kModulus);
  const auto second = static_cast<std::uint32_t>((shared.second + n) % kModulus);
  return second << 16 | first;
}

/// A sum that is 0 modulo 65535 is 65535, unless all words are 0.
template <class Team>
PENSTOCK_HD std::uint32_t fletcher32(const Team& team, const std::uint8_t* data, std::uint64_t n, Shared& shared) {
  constexpr std::uint32_t kModulus = 65535;
  running_sums<kModulus, 2>(team, data, n, shared);
  const auto folded = [](std::uint64_t sum) {
    return sum == 0 ? 0u : static_cast<std::uint32_t>((sum - 1) % kModulus + 1);
  };
  return folded(shared.second) << 16 | folded(shared.first);
}

template <class Team>
PENSTOCK_HD std::uint32_t sum_of(const Team& team, const Kind& kind, const std::uint8_t* data, std::uint64_t n,
                                 Shared& shared) {
  switch (kind.sum) {
    case Sum::crc32:
    case Sum::crc32c: return crc(team, kind.crc, data, n, shared);
    case Sum::adler32: return adler32(team, data, n, shared);
    default: return fletcher32(team, data, n, shared);
  }
}

inline constexpr std::uint64_t kMaxSummed = std::uint64_t{1} << 31;

/// Copies a chunk and puts its checksum, 4 bytes little-endian, in front of it (`front`: 4) or behind (0).
template <class Team>
PENSTOCK_HD void append_checksum(const Team& team, const EncodeBatch& batch, std::uint32_t chunk, const Kind& kind,
                                 std::uint32_t front, Shared& shared) {
  const EncodeTask task = batch.tasks[chunk];
  const std::uint64_t n = batch.in_bytes[chunk];
  const bool possible = n <= kMaxSummed && n + 4 <= task.room;
  team.each_lane([&](std::uint32_t lane) {
    if (lane == 0) batch.out_bytes[chunk] = possible ? n + 4 : kNotEncoded;
  });
  if (!possible) return;
  const auto* in = assume_global(reinterpret_cast<const std::uint8_t*>(task.in));
  auto* out = assume_global(reinterpret_cast<std::uint8_t*>(task.out));
  const std::uint32_t sum = sum_of(team, kind, in, n, shared);
  team_copy(team, out + front, in, static_cast<std::uint32_t>(n));
  team.each_lane([&](std::uint32_t lane) {
    if (lane < 4) out[(front != 0 ? 0 : n) + lane] = static_cast<std::uint8_t>(sum >> (8 * lane));
  });
}

/// Checks a chunk that holds its checksum, 4 bytes little-endian, in its first bytes or in its last.
template <class Team>
PENSTOCK_HD ChunkStatus check_chunk(const Team& team, const DecodeTask& task, const Kind& kind, std::uint32_t front,
                                    Shared& shared) {
  ChunkStatus result;
  const auto* in = reinterpret_cast<const std::uint8_t*>(task.in);
  result.status = DecodeStatus::too_large;
  if (task.in_bytes > kMaxSummed) return result;
  result.position = task.in_bytes;
  result.status = DecodeStatus::truncated_input;
  if (task.in_bytes < 4) return result;
  const std::uint64_t n = task.in_bytes - 4;
  const std::uint64_t at = front != 0 ? 0 : n;
  const std::uint32_t found = sum_of(team, kind, assume_global(in) + front, n, shared);
  const std::uint32_t stored = in[at] | static_cast<std::uint32_t>(in[at + 1]) << 8 |
                               static_cast<std::uint32_t>(in[at + 2]) << 16 |
                               static_cast<std::uint32_t>(in[at + 3]) << 24;
  result.status = stored == found ? DecodeStatus::ok : DecodeStatus::bad_checksum;
  result.position = at;
  result.output_bytes = n;
  return result;
}

}  // namespace penstock::checksum
