// LZW as TIFF files have it, decoded by a team: 32 codes at a time.
//
// Widths hang on nothing but how many codes have come since the last Clear, so the bits of the next 32 codes are known
// before any of them is.  Strings of the table lie next to each other in the output, in the order of their codes: entry
// 258 + k is the string of code k after a Clear and one byte more.  So a string is a place and a length, and decoding
// is copying from what was written before.  The work is bounded by the bits of the input and the bytes of the output.
// Between two Clears nothing hangs on what was before, so that many teams share a tile.
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

/// Where decoding of a strip or tile begins and ends.
struct LzwSpan {
  std::uint32_t bit = 0;    ///< behind a Clear; of the input where `begun` is false
  std::uint32_t made = 0;   ///< bytes of the output before it
  std::uint32_t until = 0;  ///< bytes of the output after it
  bool begun = false;       ///< there was a Clear
};

/// Decodes until `span.until` bytes are there; what follows is not looked at.
template <class Team>
PENSTOCK_HD ChunkStatus decode_lzw_span(const Team& team, const DecodeTask& task, LzwVariant variant, LzwSpan span,
                                        LzwShared& shared) {
  static_assert(Team::lanes == kLzwBatch);
  ChunkStatus result;
  const auto finish = [&](DecodeStatus status, std::uint64_t position, std::uint32_t made) {
    result.status = status;
    result.position = position;
    result.output_bytes = made;
    return result;
  };
  const auto* const in = assume_global(reinterpret_cast<const std::uint8_t*>(task.in));
  auto* const out = assume_global(reinterpret_cast<std::uint8_t*>(task.out));
  const bool old_style = variant == LzwVariant::old_style;
  const std::uint32_t late = old_style ? 1 : 0;
  const auto bits = static_cast<std::uint32_t>(task.in_bytes * 8), size = span.until;
  std::uint32_t clear = span.bit, n = 0,
                made = span.made;  // bit behind the last Clear, codes since it, bytes of output
  bool begun = span.begun;
  const auto codes_from = [&](std::uint32_t from) {
    return team.map([&](std::uint32_t lane) {
      const std::uint32_t width = lzw_width(from + lane, late);
      const std::uint64_t at = std::uint64_t{clear} + lzw_bits_before(from + lane, late);
      return at + width <= bits ? lzw_code(in, task.in_bytes, static_cast<std::uint32_t>(at), width, old_style)
                                : kLzwLiteral;  // the input ends
    });
  };
  auto ahead = codes_from(0);
  PENSTOCK_NO_UNROLL
  while (made < size) {  // takes 9 bits or more each time, or ends
    auto code = ahead;
    ahead = codes_from(n + Team::lanes);  // under way while these are copied
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
    ahead = codes_from(0);
  }
  return finish(DecodeStatus::ok, task.in_bytes, made);
}

/// Whether a strip or tile is of a size that the decoder keeps in its numbers.
PENSTOCK_HD bool lzw_fits(const DecodeTask& task) { return task.in_bytes < kLzwMaxIn && task.out_bytes < kLzwMaxOut; }

/// Decodes one strip or tile until `task.out_bytes` bytes are there, one code after another.
template <class Team>
PENSTOCK_HD ChunkStatus decode_lzw_chunk(const Team& team, const DecodeTask& task, LzwVariant variant,
                                         LzwShared& shared) {
  if (!lzw_fits(task)) {
    ChunkStatus result;
    result.status = DecodeStatus::too_large;
    return result;
  }
  return decode_lzw_span(team, task, variant, {0, 0, static_cast<std::uint32_t>(task.out_bytes), false}, shared);
}

// A tile by many teams.  Between two Clears a stream depends on nothing before them, so a team takes what lies between
// two: a segment.  Three passes: find_lzw_segments (a team for each tile), measure_lzw_segment (a team for each
// segment: where does the next one write?), decode_lzw_segment (again).  Streams that are not what libtiff's encoder
// makes (more Clears than there is room for, or other places than the first pass guessed) are left to one team.

/// Codes between two Clears of an encoder that fills its table, as libtiff's does.
inline constexpr std::uint32_t kLzwFullSegment = 3836;
/// A segment of a tile.
struct LzwSegment {
  std::uint32_t bit = 0;    ///< behind its Clear
  std::uint32_t codes = 0;  ///< up to the next Clear; of the last segment, which is all the rest, 0
  std::uint32_t bytes = 0;  ///< of output; known after the second pass, but for the last one
};
/// What was found of a tile.
struct LzwTile {
  std::uint32_t segments = 0;
  std::uint32_t alone = 0;  ///< not 0: one team decodes all of it
};
/// Segments that are kept of each tile: each code makes a byte or more.
PENSTOCK_HD std::uint32_t lzw_slots(std::uint64_t largest_bytes) {
  return static_cast<std::uint32_t>((largest_bytes < kLzwMaxOut ? largest_bytes : kLzwMaxOut) / kLzwFullSegment + 2);
}

/// Codes from bit `begin` on, which is behind a Clear, up to the next Clear; ~0U: there is none.
template <class Team>
PENSTOCK_HD std::uint32_t lzw_codes_to_clear(const Team& team, const DecodeTask& task, std::uint32_t begin) {
  const auto* const in = assume_global(reinterpret_cast<const std::uint8_t*>(task.in));
  const std::uint64_t bits = task.in_bytes * 8;
  const std::uint64_t guess = std::uint64_t{begin} + lzw_bits_before(kLzwFullSegment, 0);
  if (guess + 12 <= bits && lzw_code(in, task.in_bytes, static_cast<std::uint32_t>(guess), 12, false) == kLzwClear)
    return kLzwFullSegment;
  constexpr std::uint32_t kAtOnce = 4;  // windows of a team's lanes whose loads are under way together
  PENSTOCK_NO_UNROLL
  for (std::uint32_t n = 0;; n += kAtOnce * Team::lanes) {  // takes 9 bits a code or more each time, or ends
    auto ends = team.map([&](std::uint32_t lane) {  // a bit of each window: it ends here; the one above: by a Clear
      std::uint32_t found = 0;
      PENSTOCK_UNROLL
      for (std::uint32_t w = 0; w < kAtOnce; ++w) {
        const std::uint32_t index = n + w * Team::lanes + lane, width = lzw_width(index, 0);
        const std::uint64_t at = std::uint64_t{begin} + lzw_bits_before(index, 0);
        const bool inside = at + width <= bits;
        const std::uint32_t c =
            inside ? lzw_code(in, task.in_bytes, static_cast<std::uint32_t>(at), width, false) : kLzwEnd;
        found |= (c == kLzwClear ? 3U : c == kLzwEnd ? 1U : 0U) << 2 * w;
      }
      return found;
    });
    PENSTOCK_NO_UNROLL
    for (std::uint32_t w = 0; w < kAtOnce; ++w) {
      const auto here = team.map([&](std::uint32_t lane) { return (Team::at(ends, lane) >> 2 * w & 1) != 0; });
      const std::uint32_t stop = team.first(here);
      if (stop == Team::lanes) continue;
      return (team.broadcast(ends, stop) >> (2 * w + 1) & 1) != 0 ? n + w * Team::lanes + stop : ~0U;
    }
  }
}

/// The first pass: `segments` has room for `slots`.
template <class Team>
PENSTOCK_HD void find_lzw_segments(const Team& team, const DecodeTask& task, std::uint32_t slots, LzwTile& tile,
                                   LzwSegment* segments) {
  const auto* const in = assume_global(reinterpret_cast<const std::uint8_t*>(task.in));
  std::uint32_t count = 0, bit = 9;
  bool alone = !lzw_fits(task) || task.in_bytes < 2 || lzw_code(in, task.in_bytes, 0, 9, false) != kLzwClear;
  PENSTOCK_NO_UNROLL
  while (!alone) {
    const std::uint32_t codes = lzw_codes_to_clear(team, task, bit);
    const bool last = codes == ~0U;
    if (last || codes > 0) {  // Clears in a row are one
      team.each_lane([&](std::uint32_t lane) {
        if (lane == 0) segments[count] = {bit, last ? 0 : codes, 0};
      });
      ++count;
    }
    if (last) break;
    bit += lzw_bits_before(codes, 0) + lzw_width(codes, 0);
    alone = count == slots;
  }
  team.each_lane([&](std::uint32_t lane) {
    if (lane == 0) tile = {count, alone ? 1U : 0U};
  });
}

/// The second pass, of segment `slot`.
template <class Team>
PENSTOCK_HD void measure_lzw_segment(const Team& team, const DecodeTask& task, LzwTile& tile, LzwSegment* segments,
                                     std::uint32_t slot, LzwShared& shared) {
  if (slot + 1 >= tile.segments) return;  // the rest is as long as it is
  const auto* const in = assume_global(reinterpret_cast<const std::uint8_t*>(task.in));
  const LzwSegment segment = segments[slot];
  std::uint32_t n = 0, made = 0;
  const auto codes_from = [&](std::uint32_t from) {
    return team.map([&](std::uint32_t lane) {
      const std::uint32_t at = segment.bit + lzw_bits_before(from + lane, 0);
      return from + lane < segment.codes ? lzw_code(in, task.in_bytes, at, lzw_width(from + lane, 0), false) : 0;
    });
  };
  auto ahead = codes_from(0);
  PENSTOCK_NO_UNROLL
  while (n < segment.codes && made < task.out_bytes) {
    const std::uint32_t left = segment.codes - n, codes = left < Team::lanes ? left : Team::lanes;
    auto code = ahead;
    ahead = codes_from(n + Team::lanes);  // under way while lengths are made
    const auto wrong = team.map([&](std::uint32_t lane) {
      const std::uint32_t c = Team::at(code, lane);
      return c >= kLzwClear && (c < kLzwFirst || c - kLzwFirst >= n + lane);
    });
    if (team.first(wrong) < Team::lanes) {  // not a segment, or a stream that is no good: one team finds out
      team.each_lane([&](std::uint32_t lane) {
        if (lane == 0) atomic_add(&tile.alone, 1U);
      });
      return;
    }
    made = lzw_lengths(team, code, n, codes, made, shared);
    n += codes;
  }
  team.each_lane([&](std::uint32_t lane) {
    if (lane == 0) segments[slot].bytes = made;
  });
}

/// The third pass, of segment `slot`.  One of the teams of a tile gives its result.
template <class Team>
PENSTOCK_HD void decode_lzw_segment(const Team& team, const DecodeTask& task, const LzwTile& tile,
                                    const LzwSegment* segments, std::uint32_t slot, LzwShared& shared,
                                    ChunkStatus& result) {
  const auto tell = [&](const ChunkStatus& status) {
    team.each_lane([&](std::uint32_t lane) {
      if (lane == 0) result = status;
    });
  };
  if (tile.alone != 0) {
    if (slot == 0) tell(decode_lzw_chunk(team, task, LzwVariant::standard, shared));
    return;
  }
  if (slot >= tile.segments) return;
  std::uint64_t start = 0;
  PENSTOCK_NO_UNROLL
  for (std::uint32_t first = 0; first < slot; first += Team::lanes) {
    auto sums = team.inclusive_sum(team.map([&](std::uint32_t lane) {
      return first + lane < slot ? std::uint64_t{segments[first + lane].bytes} : std::uint64_t{0};
    }));
    start += team.broadcast(sums, Team::lanes - 1);
  }
  const bool last = slot + 1 == tile.segments;
  const std::uint64_t end = last ? task.out_bytes : start + segments[slot].bytes;
  LzwSpan span;
  span.bit = segments[slot].bit;
  span.until = static_cast<std::uint32_t>(end < task.out_bytes ? end : task.out_bytes);
  span.made = start < span.until ? static_cast<std::uint32_t>(start) : span.until;
  span.begun = true;
  const ChunkStatus status = decode_lzw_span(team, task, LzwVariant::standard, span, shared);
  if (last) tell(status);
}

}  // namespace penstock::tiff
