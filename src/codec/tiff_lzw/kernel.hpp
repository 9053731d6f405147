// LZW as TIFF files have it, decoded by a team: 32 codes at a time.
//
// Widths hang on nothing but how many codes have come since the last Clear, so the bits of the next 32 codes are known
// before any of them is.  Strings of the table lie next to each other in the output, in the order of their codes: entry
// 258 + k is the string of code k after a Clear and one byte more.  So a string is a place and a length, and decoding
// is copying from what was written before.  The work is bounded by the bits of the input and the bytes of the output.
#pragma once
#include <cstdint>

#include "codec/status.hpp"
#include "codec/tiff_lzw/tiff_lzw.hpp"
#include "device/portable.hpp"

namespace penstock::tiff {

inline constexpr std::uint32_t kLzwClear = 256, kLzwEnd = 257, kLzwFirst = 258;
inline constexpr std::uint32_t kLzwEntries = 4096 - kLzwFirst;
/// Codes that are looked at together: a team of 32 lanes.
inline constexpr std::uint32_t kLzwBatch = 32;
/// Bits of the input, and places in the output with a flag, are kept in 32 bits.
inline constexpr std::uint64_t kLzwMaxIn = 1U << 28, kLzwMaxOut = 1U << 30;

/// What a team shares.
struct LzwShared {
  /// Where the string of each code after a Clear begins, as its low 16 bits; of each 16th all bits are kept.  The 15
  /// strings between have at most 3,839 bytes each, so the distance is never in doubt.
  std::uint32_t every_16th[(kLzwEntries + 1) / 16 + 1];
  std::uint16_t low[kLzwEntries + 1];
  std::uint32_t begin[kLzwBatch + 1];   ///< of the strings of this batch in the output
  std::uint32_t source[kLzwBatch];      ///< kLzwLiteral | byte, or the place that the string is copied from
  std::uint32_t depends[2][kLzwBatch];  ///< while lengths are made: the code of this batch that it follows from
  std::uint32_t length[2][kLzwBatch];

  [[nodiscard]] PENSTOCK_HD std::uint32_t place(std::uint32_t code) const {
    const std::uint32_t near = every_16th[code / 16];
    return near + ((low[code] - near) & 0xFFFF);
  }
  PENSTOCK_HD void set_place(std::uint32_t code, std::uint32_t at) {
    low[code] = static_cast<std::uint16_t>(at);
    if (code % 16 == 0) every_16th[code / 16] = at;
  }
};
inline constexpr std::uint32_t kLzwLiteral = 0x80000000U, kLzwKnown = ~0U;

/// Bits from a Clear to code `n` after it, and the bits of that code; `late`: 1 in the old style, whose codes grow one
/// code later.
PENSTOCK_HD std::uint32_t lzw_bits_before(std::uint32_t n, std::uint32_t late) {
  const auto above = [n, late](std::uint32_t k) { return n > k + late ? n - k - late : 0; };
  return 9 * n + above(254) + above(766) + above(1790);
}
PENSTOCK_HD std::uint32_t lzw_width(std::uint32_t n, std::uint32_t late) {
  return 9U + (n >= 254 + late ? 1U : 0U) + (n >= 766 + late ? 1U : 0U) + (n >= 1790 + late ? 1U : 0U);
}

/// The code at a bit, which lies in the input as a whole.
PENSTOCK_HD std::uint32_t lzw_code(const std::uint8_t* in, std::uint64_t in_bytes, std::uint32_t bit,
                                   std::uint32_t width, bool lowest_first) {
  const std::uint32_t byte = bit / 8;
  std::uint32_t bytes[3];
  PENSTOCK_UNROLL
  for (std::uint32_t i = 0; i < 3; ++i) bytes[i] = byte + i < in_bytes ? in[byte + i] : 0;
  const std::uint32_t mask = (1U << width) - 1;
  if (lowest_first) return (bytes[0] | bytes[1] << 8 | bytes[2] << 16) >> bit % 8 & mask;
  return (bytes[0] << 16 | bytes[1] << 8 | bytes[2]) >> (24 - bit % 8 - width) & mask;
}

/// Makes the lengths of the first `codes` codes of a batch and where their strings begin, from `made` on.
/// Returns where they end.
template <class Team, class Codes>
PENSTOCK_HD std::uint32_t lzw_lengths(const Team& team, Codes& code, std::uint32_t n, std::uint32_t codes,
                                      std::uint32_t made, LzwShared& shared) {
  // An entry that this batch itself makes is as long as the string of that code and one byte.
  team.each_lane([&](std::uint32_t lane) {
    const std::uint32_t c = Team::at(code, lane), entry = c - kLzwFirst;
    std::uint32_t depends = kLzwKnown, length = 1, source = kLzwLiteral | c;
    if (lane >= codes) {
      length = 0;
    } else if (c >= kLzwFirst && entry >= n) {
      depends = entry - n;
    } else if (c >= kLzwFirst) {
      source = shared.place(entry);
      length = (entry + 1 == n ? made : shared.place(entry + 1)) - source + 1;
    }
    shared.depends[0][lane] = depends;
    shared.length[0][lane] = length;
    shared.source[lane] = source;
  });
  // Each turn doubles how far back a chain is known, so five are enough.
  std::uint32_t from = 0;
  PENSTOCK_NO_UNROLL
  for (std::uint32_t turn = 0; turn < 5; ++turn) {
    const auto waits = team.map([&](std::uint32_t lane) { return shared.depends[from][lane] != kLzwKnown; });
    if (team.first(waits) == Team::lanes) break;
    team.each_lane([&](std::uint32_t lane) {
      const std::uint32_t before = shared.depends[from][lane];
      const bool known = before == kLzwKnown;
      shared.depends[1 - from][lane] = known ? kLzwKnown : shared.depends[from][before];
      shared.length[1 - from][lane] = shared.length[from][lane] + (known ? 0 : shared.length[from][before]);
    });
    from = 1 - from;
  }
  auto ends = team.inclusive_sum(team.map([&](std::uint32_t lane) { return shared.length[from][lane]; }));
  team.each_lane([&](std::uint32_t lane) {
    const std::uint32_t end = made + Team::at(ends, lane), begin = end - shared.length[from][lane];
    shared.begin[lane] = begin;
    if (lane + 1 == Team::lanes) shared.begin[kLzwBatch] = end;
    if (lane < codes && n + lane <= kLzwEntries) shared.set_place(n + lane, begin);
  });
  team.each_lane([&](std::uint32_t lane) {  // where strings of this batch are copied from is known now
    const std::uint32_t c = Team::at(code, lane), entry = c - kLzwFirst;
    if (lane < codes && c >= kLzwFirst && entry >= n) shared.source[lane] = shared.begin[entry - n];
  });
  return shared.begin[kLzwBatch];
}

/// Which string of the batch output byte `at` belongs to; strings of no bytes stand at the end.
PENSTOCK_HD std::uint32_t lzw_owner(const LzwShared& shared, std::uint32_t at) {
  std::uint32_t owner = 0;
  PENSTOCK_UNROLL
  for (std::uint32_t step = kLzwBatch / 2; step > 0; step /= 2)
    if (shared.begin[owner + step] <= at) owner += step;
  return owner;
}

/// Copies the strings of a batch up to `end`: at a time as many as need nothing of each other.
template <class Team>
PENSTOCK_HD void lzw_copy(const Team& team, std::uint32_t codes, std::uint32_t end, std::uint8_t* out,
                          const LzwShared& shared) {
  std::uint32_t first = 0;
  PENSTOCK_NO_UNROLL
  while (first < codes && shared.begin[first] < end) {
    const std::uint32_t from = shared.begin[first];
    const auto waits = team.map([&](std::uint32_t lane) {  // the string needs bytes from `from` on
      if (lane <= first || lane >= codes || (shared.source[lane] & kLzwLiteral) != 0) return false;
      return shared.source[lane] + (shared.begin[lane + 1] - shared.begin[lane]) > from;
    });
    const std::uint32_t stop = team.first(waits), next = stop < codes ? stop : codes;
    const std::uint32_t to = shared.begin[next] < end ? shared.begin[next] : end;
    const auto load = [&](std::uint32_t i) -> std::uint8_t {
      std::uint32_t owner = lzw_owner(shared, from + i), source = shared.source[owner];
      std::uint32_t at = source + (from + i - shared.begin[owner]);
      // The last byte of a string that is made while it is used is its own first one.
      if ((source & kLzwLiteral) == 0 && at >= from) at = source;
      return (source & kLzwLiteral) != 0 ? static_cast<std::uint8_t>(source) : out[at];
    };
    team.template for_each_batched<2>(to - from, load,
                                      [&](std::uint32_t i, std::uint8_t byte) { out[from + i] = byte; });
    first = next;
  }
}

/// Decodes one strip or tile until `task.out_bytes` bytes are there; what follows is not looked at.
template <class Team>
PENSTOCK_HD ChunkStatus decode_lzw_chunk(const Team& team, const DecodeTask& task, LzwVariant variant,
                                         LzwShared& shared) {
  static_assert(Team::lanes == kLzwBatch);
  ChunkStatus result;
  const auto finish = [&](DecodeStatus status, std::uint64_t position, std::uint32_t made) {
    result.status = status;
    result.position = position;
    result.output_bytes = made;
    return result;
  };
  if (task.in_bytes >= kLzwMaxIn || task.out_bytes >= kLzwMaxOut) return finish(DecodeStatus::too_large, 0, 0);
  const auto* const in = assume_global(reinterpret_cast<const std::uint8_t*>(task.in));
  auto* const out = assume_global(reinterpret_cast<std::uint8_t*>(task.out));
  const bool old_style = variant == LzwVariant::old_style;
  const std::uint32_t late = old_style ? 1 : 0;
  const auto bits = static_cast<std::uint32_t>(task.in_bytes * 8), size = static_cast<std::uint32_t>(task.out_bytes);
  std::uint32_t clear = 0, n = 0, made = 0;  // bit behind the last Clear, codes since it, bytes of output
  bool begun = false;
  PENSTOCK_NO_UNROLL
  while (made < size) {  // takes 9 bits or more each time, or ends
    auto code = team.map([&](std::uint32_t lane) {
      const std::uint32_t width = lzw_width(n + lane, late);
      const std::uint64_t at = std::uint64_t{clear} + lzw_bits_before(n + lane, late);
      return at + width <= bits ? lzw_code(in, task.in_bytes, static_cast<std::uint32_t>(at), width, old_style)
                                : kLzwLiteral;  // the input ends
    });
    const auto stops = team.map([&](std::uint32_t lane) {
      const std::uint32_t c = Team::at(code, lane);
      return c >= kLzwClear && (c < kLzwFirst || c - kLzwFirst >= n + lane);
    });
    const std::uint32_t stop = team.first(stops), codes = stop < Team::lanes ? stop : Team::lanes;
    if (codes > 0 && !begun) return finish(DecodeStatus::bad_magic, 1, made);
    if (codes > 0) {
      const std::uint32_t end = lzw_lengths(team, code, n, codes, made, shared);
      const std::uint32_t limit = end < size ? end : size;
      lzw_copy(team, codes, limit, out, shared);
      made = limit;
      if (made == size) break;
    }
    if (stop == Team::lanes) {
      n += Team::lanes;
      if (n < kLzwEntries + 2 * Team::lanes) continue;
      // The table is full and widths stay: counted from here on, so that `n` has an end.
      clear += 12 * Team::lanes;
      n -= Team::lanes;
      continue;
    }
    const std::uint32_t what = team.broadcast(code, stop);
    const std::uint32_t behind = clear + lzw_bits_before(n + stop, late) + lzw_width(n + stop, late);
    if (what == kLzwLiteral) return finish(DecodeStatus::truncated_input, task.in_bytes, made);
    if (what == kLzwEnd)
      return finish(begun ? DecodeStatus::short_output : DecodeStatus::bad_magic, (behind - 1) / 8, made);
    if (what != kLzwClear)
      return finish(begun ? DecodeStatus::bad_table : DecodeStatus::bad_magic, (behind - 1) / 8, made);
    clear = behind;
    n = 0;
    begun = true;
  }
  return finish(DecodeStatus::ok, task.in_bytes, made);
}

}  // namespace penstock::tiff
