// LZW as TIFF files have it, decoded by a team in one pass, 32 codes at a time.
//
// Strings of the table lie next to each other in the output, in the order of their codes: entry 258 + k is the string
// of code k after a Clear and one byte more.  So a string is a place and a length, and decoding is copying from what
// was written before.  The work is bounded by the bits of the input and the bytes of the output.  Between two Clears
// nothing hangs on what was before, so that many teams can share a tile: codec/tiff_lzw/segments.hpp.
#pragma once
#include <cstdint>

#include "codec/tiff_lzw/bits.hpp"
#include "codec/tiff_lzw/tiff_lzw.hpp"

namespace penstock::tiff {

/// What a team shares.
struct LzwShared {
  /// Where the string of each code begins, counted from the output at the last Clear, as its low 16 bits; of each 16th
  /// all bits are kept.  The 15 strings between have at most 3,839 bytes each, so the distance is never in doubt.
  /// (While a segment is only measured: the length of each entry.)
  std::uint16_t low[kLzwSteady + 1];
  std::uint32_t every_16th[kLzwSteady / 16 + 1];

  [[nodiscard]] PENSTOCK_HD std::uint32_t place(std::uint32_t code) const {
    const std::uint32_t near = every_16th[code / 16];
    return near + ((low[code] - near) & 0xFFFF);
  }
  PENSTOCK_HD void set_place(std::uint32_t code, std::uint32_t at) {
    low[code] = static_cast<std::uint16_t>(at);
    if (code % 16 == 0) every_16th[code / 16] = at;
  }
};

/// The string of a code: its place and length, counted as LzwShared does; a literal is its byte instead of a place.
struct LzwString {
  std::uint32_t begin = 0, length = 0, source = 0;
  bool literal = false;
};

/// Adds to the length of each code whose entry the same batch makes that of the code it follows from, and a byte for
/// each step on the way: `from` is that lane, or the lane itself.
template <class Team, class Lanes>
PENSTOCK_HD auto lzw_follow(const Team& team, Lanes from, Lanes length) {
  auto added = team.map([&](std::uint32_t lane) { return Team::at(from, lane) != lane ? 1U : 0U; });
  PENSTOCK_NO_UNROLL
  for (;;) {  // each turn doubles how far back a chain is known: at most five
    auto further = team.shuffle(from, from);
    if (team.ballot(team.map([&](std::uint32_t lane) { return Team::at(further, lane) != Team::at(from, lane); })) == 0)
      break;
    auto more = team.shuffle(added, from);
    added = team.map([&](std::uint32_t lane) { return Team::at(added, lane) + Team::at(more, lane); });
    from = further;
  }
  auto root = team.shuffle(length, from);
  return team.map([&](std::uint32_t lane) { return Team::at(root, lane) + Team::at(added, lane); });
}

/// Copies strings of which many are short, a lane each: first those that need nothing of this batch, then those that
/// need these, and so on.  `needs`: bits of the lanes, all lower ones, that a string is copied from.
template <class Team, class Strings, class Needs>
PENSTOCK_HD void lzw_copy_short(const Team& team, std::uint32_t codes, Strings& strings, Needs& needs,
                                std::uint8_t* out) {
  std::uint32_t left = codes == Team::lanes ? ~0U : (1U << codes) - 1;
  PENSTOCK_NO_UNROLL
  do {  // the lowest lane that is left needs none that is
    auto now =
        team.map([&](std::uint32_t lane) { return (left >> lane & 1) != 0 && (Team::at(needs, lane) & left) == 0; });
    team.each_lane([&](std::uint32_t lane) {
      if (!Team::at(now, lane)) return;
      const LzwString& string = Team::at(strings, lane);
      const std::uint8_t* from = out + (string.literal ? 0 : string.source);
      std::uint8_t* to = out + string.begin;
      constexpr std::uint32_t kAtOnce = 4;  // loads under way
      PENSTOCK_NO_UNROLL
      for (std::uint32_t i = 0; i < string.length; i += kAtOnce, from += kAtOnce, to += kAtOnce) {
        std::uint8_t bytes[kAtOnce];
        PENSTOCK_UNROLL
        for (std::uint32_t k = 0; k < kAtOnce; ++k)
          bytes[k] = i + k >= string.length     ? std::uint8_t{0}
                     : k == 0 && string.literal ? static_cast<std::uint8_t>(string.source)  // it has one byte
                                                : from[k];
        PENSTOCK_UNROLL
        for (std::uint32_t k = 0; k < kAtOnce; ++k)
          if (i + k < string.length) to[k] = bytes[k];
      }
    });
    left &= ~team.ballot(now);
  } while (left != 0);
}

/// Copies strings of any length up to `end`, 32 bytes of the output at a time: a lane each, whatever string it is of.
template <class Team, class Strings>
PENSTOCK_HD void lzw_copy_long(const Team& team, Strings& strings, std::uint32_t begin, std::uint32_t end,
                               std::uint8_t* out) {
  constexpr std::uint32_t kLiteral = 0x80000000U;
  auto what = team.map([&](std::uint32_t lane) {  // a byte, or how far back its source is
    const LzwString& s = Team::at(strings, lane);
    return s.literal ? kLiteral | s.source : s.begin - s.source;
  });
  std::uint32_t before = 0;  // strings that begin before the window
  PENSTOCK_NO_UNROLL
  for (std::uint32_t window = begin; window < end; window += Team::lanes) {
    const std::uint32_t heads = team.any_bits(team.map([&](std::uint32_t lane) {
      const LzwString& s = Team::at(strings, lane);
      return s.length != 0 && s.begin - window < Team::lanes ? 1U << (s.begin - window) : 0U;
    }));
    auto owner = team.map([&](std::uint32_t lane) { return before + count_bits(heads & (~0U >> (31 - lane))) - 1; });
    before += count_bits(heads);
    auto source = team.shuffle(what, owner);
    source = team.map([&](std::uint32_t lane) {
      const std::uint32_t back = Team::at(source, lane);
      return (back & kLiteral) != 0 ? back : window + lane - back;
    });
    PENSTOCK_NO_UNROLL
    for (;;) {  // a source in this window itself: take its source; each turn doubles how far that reaches
      auto inside = team.map([&](std::uint32_t lane) {
        return (Team::at(source, lane) & kLiteral) == 0 && Team::at(source, lane) >= window;
      });
      if (team.ballot(inside) == 0) break;
      auto from =
          team.map([&](std::uint32_t lane) { return Team::at(inside, lane) ? Team::at(source, lane) - window : lane; });
      source = team.shuffle(source, from);
    }
    auto byte = team.map([&](std::uint32_t lane) {
      const std::uint32_t at = Team::at(source, lane);
      return (at & kLiteral) != 0 || window + lane >= end ? static_cast<std::uint8_t>(at) : out[at];
    });
    team.each_lane([&](std::uint32_t lane) {
      if (window + lane < end) out[window + lane] = Team::at(byte, lane);
    });
  }
}

/// Strings of up to this many bytes are copied by a lane each.
inline constexpr std::uint32_t kLzwShort = 16;

/// Writes the strings of the first `codes` codes of a batch, the `n`th after a Clear and those behind it, from `made`
/// on and as far as there is `room`.  Returns where they end.  Codes of other lanes are literals.
template <class Team, class Codes>
PENSTOCK_HD std::uint32_t lzw_write(const Team& team, Codes& code, std::uint32_t n, std::uint32_t codes,
                                    std::uint32_t made, std::uint32_t room, std::uint8_t* out, LzwShared& shared) {
  const auto is_new = [&](std::uint32_t c) { return c >= kLzwFirst + n; };  // an entry that this batch makes
  const bool far = made > 0xFFFF;
  auto strings = team.map([&](std::uint32_t lane) {
    const std::uint32_t c = Team::at(code, lane);
    const bool known = c >= kLzwFirst && !is_new(c);
    const std::uint32_t entry = known ? c - kLzwFirst : 0, low = shared.low[entry];
    LzwString s;
    s.literal = c < kLzwClear;
    s.length = known ? ((shared.low[entry + 1] - low) & 0xFFFF) + 1 : s.literal ? 1 : 0;
    s.source = s.literal ? c : far ? shared.place(entry) : low;
    return s;
  });
  auto length = team.map([&](std::uint32_t lane) { return Team::at(strings, lane).length; });
  auto from = team.map([&](std::uint32_t lane) {
    const std::uint32_t c = Team::at(code, lane);
    return is_new(c) ? c - kLzwFirst - n : lane;
  });
  const std::uint32_t new_ones =
      team.ballot(team.map([&](std::uint32_t lane) { return Team::at(from, lane) != lane; }));
  if (new_ones != 0) length = lzw_follow(team, from, length);
  auto ends = team.inclusive_sum(length);
  const std::uint32_t end = made + team.broadcast(ends, codes - 1);
  if (n < kLzwSteady)
    team.each_lane([&](std::uint32_t lane) { shared.set_place(n + lane + 1, made + Team::at(ends, lane)); });
  auto begin = team.map([&](std::uint32_t lane) { return made + Team::at(ends, lane) - Team::at(length, lane); });
  if (new_ones != 0) {
    auto source = team.shuffle(begin, from);
    strings = team.map([&](std::uint32_t lane) {
      LzwString s = Team::at(strings, lane);
      if (Team::at(from, lane) != lane) s.source = Team::at(source, lane);
      return s;
    });
  }
  strings = team.map([&](std::uint32_t lane) {
    LzwString s = Team::at(strings, lane);
    s.begin = Team::at(begin, lane);
    s.length = Team::at(length, lane);
    return s;
  });
  const std::uint32_t until = end < room ? end : room;
  if (codes < Team::lanes || end > room)
    strings = team.map([&](std::uint32_t lane) {
      LzwString s = Team::at(strings, lane);
      const std::uint32_t left = lane < codes && s.begin < room ? room - s.begin : 0;
      s.length = s.length < left ? s.length : left;
      return s;
    });
  // The last byte of a string that is made while it is used is its own first one.
  const std::uint32_t long_ones = team.ballot(team.map([&](std::uint32_t lane) {
    return Team::at(strings, lane).length > kLzwShort || Team::at(code, lane) + 1 == kLzwFirst + n + lane;
  }));
  if (long_ones != 0) {
    lzw_copy_long(team, strings, made, until, out);
  } else {
    auto needs = team.map([&](std::uint32_t lane) {  // an entry ends in the first byte of the string behind it
      const bool ends_here = Team::at(code, lane) + 1 == kLzwFirst + n;
      return Team::at(from, lane) != lane ? 3U << Team::at(from, lane) : ends_here ? 1U : 0U;
    });
    lzw_copy_short(team, codes, strings, needs, out);
  }
  return until;
}

/// Where decoding of a strip or tile begins and ends.
struct LzwSpan {
  std::uint32_t bit = 0;    ///< behind a Clear, counted as LzwBits does
  std::uint32_t made = 0;   ///< bytes of the output before it
  std::uint32_t until = 0;  ///< bytes of the output after it
};

/// Decodes until `span.until` bytes are there; what follows is not looked at.
template <bool kOldStyle, class Team>
PENSTOCK_HD ChunkStatus decode_lzw_span(const Team& team, const DecodeTask& task, LzwSpan span, LzwShared& shared) {
  static_assert(Team::lanes == kLzwBatch);
  ChunkStatus result;
  const auto finish = [&](DecodeStatus status, std::uint64_t position, std::uint32_t made) {
    result.status = status;
    result.position = position;
    result.output_bytes = made;
    return result;
  };
  const LzwBits<kOldStyle> in(task);
  std::uint8_t* out = assume_global(reinterpret_cast<std::uint8_t*>(task.out)) + span.made;
  std::uint32_t clear = span.bit, n = 0, made = 0;    // bit behind the last Clear, codes and bytes since it
  std::uint32_t room = span.until - span.made;        // bytes that are wanted since it
  typename Team::template var<LzwWords> words, next;  // of this batch and the one behind it
  bool behind_clear = true;
  team.each_lane([&](std::uint32_t lane) {
    if (lane == 0) shared.set_place(0, 0);
  });
  PENSTOCK_NO_UNROLL
  while (made < room) {  // takes 9 bits or more each time, or ends
    if (behind_clear) {
      words = in.batch(team, clear, 0);
      next = in.batch(team, clear, Team::lanes);
      behind_clear = false;
    }
    auto later = in.batch(team, clear, n + 2 * Team::lanes);
    auto code = team.map([&](std::uint32_t lane) {
      return LzwBits<kOldStyle>::code(Team::at(words, lane), lzw_width(n + lane, in.late));
    });
    const std::uint32_t stops = team.ballot(team.map([&](std::uint32_t lane) {
      const bool ended = Team::at(words, lane).at + lzw_width(n + lane, in.late) > in.end;
      return ended || lzw_stops(Team::at(code, lane), n + lane);
    }));
    words = next;
    next = later;
    std::uint32_t codes = Team::lanes, what = 0;
    if (stops != 0) {
      codes = low_bit(stops);
      what = team.broadcast(code, codes);
      code = team.map([&](std::uint32_t lane) { return lane < codes ? Team::at(code, lane) : 0U; });
    }
    if (codes > 0) made = lzw_write(team, code, n, codes, made, room, out, shared);
    if (made == room) break;
    if (stops == 0) {
      if (n < kLzwSteady)
        n += Team::lanes;
      else
        clear += 12 * Team::lanes;  // the table is full and widths stay
      continue;
    }
    const std::uint32_t all = span.until - room + made;
    clear += lzw_bits_before(n + codes, in.late) + lzw_width(n + codes, in.late);
    if (clear > in.end) return finish(DecodeStatus::truncated_input, task.in_bytes, all);
    if (what != kLzwClear)
      return finish(what == kLzwEnd ? DecodeStatus::short_output : DecodeStatus::bad_table, in.byte_before(clear), all);
    out += made;
    room -= made;
    n = made = 0;
    behind_clear = true;
  }
  return finish(DecodeStatus::ok, task.in_bytes, span.until);
}

/// Whether a strip or tile is of a size that the decoder keeps in its numbers.
PENSTOCK_HD bool lzw_fits(const DecodeTask& task) { return task.in_bytes < kLzwMaxIn && task.out_bytes < kLzwMaxOut; }

/// What is known of a strip or tile before any of its codes is decoded; `not_run`: it begins with a Clear.
template <bool kOldStyle>
PENSTOCK_HD ChunkStatus begin_lzw(const DecodeTask& task) {
  ChunkStatus result;
  if (!lzw_fits(task)) {
    result.status = DecodeStatus::too_large;
    return result;
  }
  const LzwBits<kOldStyle> in(task);
  if (task.out_bytes == 0 || task.in_bytes < 2) {
    result.status = task.out_bytes == 0 ? DecodeStatus::ok : DecodeStatus::truncated_input;
    result.position = task.in_bytes;
  } else if (in.code_at(in.begin, 9) != kLzwClear) {
    result.status = DecodeStatus::bad_magic;
    result.position = 1;
  }
  return result;
}

/// Decodes one strip or tile until `task.out_bytes` bytes are there, one code after another.
template <bool kOldStyle, class Team>
PENSTOCK_HD ChunkStatus decode_lzw_chunk(const Team& team, const DecodeTask& task, LzwShared& shared) {
  const ChunkStatus begun = begin_lzw<kOldStyle>(task);
  if (begun.status != DecodeStatus::not_run) return begun;
  const std::uint32_t first = LzwBits<kOldStyle>(task).begin;
  return decode_lzw_span<kOldStyle>(team, task, {first + 9, 0, static_cast<std::uint32_t>(task.out_bytes)}, shared);
}
template <class Team>
PENSTOCK_HD ChunkStatus decode_lzw_chunk(const Team& team, const DecodeTask& task, LzwVariant variant,
                                         LzwShared& shared) {
  return variant == LzwVariant::standard ? decode_lzw_chunk<false>(team, task, shared)
                                         : decode_lzw_chunk<true>(team, task, shared);
}

}  // namespace penstock::tiff
