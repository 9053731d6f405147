// LZW as TIFF files have it, decoded by a team of many lanes, a tile or strip each, a thousand codes or more at a time.
//
// Entry 258 + k of the table is the string of code k after a Clear and the first byte of that of code k + 1.  So a
// string ends in that byte, before it stands the string of code k, which ends likewise: from a code alone its lane
// walks to all bytes of its string, in shared memory, and needs nothing that another lane writes.  A group of codes
// takes these passes: codes are unpacked, each where its bits are known to be; lengths and first bytes are walked to;
// lengths are summed up to places; strings are walked again and written into a window, which goes to the output as a
// whole. The work is bounded by the bits of the input, the bytes of the output, and 7 MB besides.
#pragma once
#include <cstdint>
#include <type_traits>

#include "codec/tiff_lzw/bits.hpp"
#include "codec/tiff_lzw/tiff_lzw.hpp"

namespace penstock::tiff {

/// What a team of `kLanes` lanes shares that decodes `kCodes` codes together.
template <std::uint32_t kLanes, std::uint32_t kCodes = 1024>
struct LzwShared {
  static constexpr std::uint32_t group = kCodes;
  static constexpr std::uint32_t each = kCodes / kLanes;            ///< codes of a group that a lane adds up
  static constexpr std::uint32_t sums_each = kLanes / 32;           ///< sums that a lane of the leader adds up
  static constexpr std::uint32_t window_bytes = 2 * kCodes + 2048;  ///< that are put together before they are written
  /// From the first string of a lane to the end of another of its; a string has at most 3,839 bytes.
  using End = std::conditional_t<(each > 16), std::uint32_t, std::uint16_t>;

  Bytes16 window[window_bytes / 16 + 1];
  std::uint64_t stop;  ///< codes of the group before the first that is no string
  std::uint32_t end;   ///< where the strings of the group end in the output
  /// Bytes of the strings of each lane, then where they begin in the output; apart, so that the leader's lanes do not
  /// meet in one bank.
  std::uint32_t sums[kLanes + 32];
  End ends[kCodes];
  /// Since the last Clear; what follows a full table stands behind it, one group in place of the other.
  std::uint16_t code[kLzwSteady + kCodes];
  std::uint8_t first[kLzwSteady + kCodes];  ///< bytes of the strings

  PENSTOCK_HD std::uint32_t& sum_of(std::uint32_t lane) { return sums[lane + lane / sums_each]; }
  /// Where the string of a code of the group ends in the output.
  PENSTOCK_HD std::uint32_t end_of(std::uint32_t i) { return sum_of(i / each) + ends[i]; }
};

/// Unpacks `count` codes, the `n`th after a Clear at bit `clear` and those behind it.
template <bool kOldStyle, class Team, class Shared>
PENSTOCK_HD void lzw_unpack(const Team& team, const LzwBits<kOldStyle>& in, std::uint32_t clear, std::uint32_t n,
                            std::uint32_t count, Shared& shared) {
  const auto take = [&](std::uint32_t i, const LzwWords& words) {
    const std::uint32_t width = lzw_width(n + i, in.late), c = LzwBits<kOldStyle>::code(words, width);
    if (words.at + width > in.end || lzw_stops(c, n + i)) atomic_min(&shared.stop, std::uint64_t{i});
    shared.code[n + i] = static_cast<std::uint16_t>(c);
  };
  if (in.holds(clear, n, count))
    team.template for_each_batched<4>(
        count, [&](std::uint32_t i) { return in.words_inside(clear + lzw_bits_before(n + i, in.late)); }, take);
  else
    team.for_each(count, [&](std::uint32_t i) { take(i, in.words_at(clear + lzw_bits_before(n + i, in.late))); });
}

/// Walks from `count` codes to the first bytes of their strings, and sums up lengths: the output has `made` bytes.
template <class Team, class Shared>
PENSTOCK_HD void lzw_measure(const Team& team, std::uint32_t n, std::uint32_t count, std::uint32_t made,
                             Shared& shared) {
  team.each_lane([&](std::uint32_t lane) {
    std::uint32_t sum = 0;
    PENSTOCK_NO_UNROLL
    for (std::uint32_t i = lane * Shared::each; i < (lane + 1) * Shared::each && i < count; ++i) {
      std::uint32_t c = shared.code[n + i];
      PENSTOCK_NO_UNROLL
      for (++sum; c >= kLzwFirst; ++sum) c = shared.code[c - kLzwFirst];  // each is of an earlier code
      shared.first[n + i] = static_cast<std::uint8_t>(c);
      shared.ends[i] = static_cast<typename Shared::End>(sum);
    }
    shared.sum_of(lane) = sum;
  });
  team.leader([&](const auto& warp) {
    using Warp = std::decay_t<decltype(warp)>;
    auto all = warp.inclusive_sum(warp.map([&](std::uint32_t lane) {
      std::uint32_t sum = 0;
      for (std::uint32_t k = 0; k < Shared::sums_each; ++k) sum += shared.sum_of(lane * Shared::sums_each + k);
      return sum;
    }));
    warp.each_lane([&](std::uint32_t lane) {
      std::uint32_t at = made + Warp::at(all, lane);
      if (lane + 1 == Warp::lanes) {
        shared.end = at;
        shared.stop = Shared::group;  // for the next group: all have seen that of this one
      }
      for (std::uint32_t k = Shared::sums_each; k-- > 0;) {
        std::uint32_t& sum = shared.sum_of(lane * Shared::sums_each + k);
        at -= sum;
        sum = at;
      }
    });
  });
}

/// Writes the bytes [from, to) of the output, at most window_bytes, of the strings of `count` codes.
template <class Team, class Shared>
PENSTOCK_HD void lzw_write(const Team& team, std::uint32_t n, std::uint32_t count, std::uint32_t from, std::uint32_t to,
                           std::uint8_t* out, Shared& shared) {
  const std::uint32_t skew = misalignment(out + from, 16), length = to - from;
  auto* const window = reinterpret_cast<std::uint8_t*>(shared.window);
  team.for_each(count, [&](std::uint32_t i) {
    const std::uint32_t end = shared.end_of(i);
    if (end <= from || (i > 0 && shared.end_of(i - 1) >= to)) return;
    std::uint32_t c = shared.code[n + i];
    PENSTOCK_NO_UNROLL
    for (std::uint32_t at = end; at-- > from;) {  // from its last byte on
      const bool literal = c < kLzwClear;
      if (at < to) window[at - from + skew] = literal ? static_cast<std::uint8_t>(c) : shared.first[c - kLzwFirst + 1];
      if (literal) break;
      c = shared.code[c - kLzwFirst];
    }
  });
  std::uint8_t* const base = out + from - skew;
  team.for_each((skew + length + 15) / 16, [&](std::uint32_t u) {
    const std::uint32_t at = 16 * u, end = skew + length;
    if (at >= skew && at + 16 <= end) return store_aligned(base + at, shared.window[u]);
    PENSTOCK_NO_UNROLL
    for (std::uint32_t b = at < skew ? skew : at; b < at + 16 && b < end; ++b) base[b] = window[b];
  });
}

/// What is known of a strip or tile before any of its codes is decoded; `not_run`: it begins with a Clear.
template <bool kOldStyle>
PENSTOCK_HD ChunkStatus begin_lzw(const DecodeTask& task) {
  ChunkStatus result;
  if (task.in_bytes >= kLzwMaxIn || task.out_bytes >= kLzwMaxOut) {
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

/// Decodes one strip or tile until `task.out_bytes` bytes are there; what follows is not looked at.
template <bool kOldStyle, class Team, class Shared>
PENSTOCK_HD ChunkStatus decode_lzw_chunk(const Team& team, const DecodeTask& task, Shared& shared) {
  ChunkStatus result = begin_lzw<kOldStyle>(task);
  if (result.status != DecodeStatus::not_run) return result;
  const auto finish = [&](DecodeStatus status, std::uint64_t position, std::uint32_t made) {
    result.status = status;
    result.position = position;
    result.output_bytes = made;
    return result;
  };
  const LzwBits<kOldStyle> in(task);
  auto* const out = assume_global(reinterpret_cast<std::uint8_t*>(task.out));
  const auto wanted = static_cast<std::uint32_t>(task.out_bytes);
  std::uint32_t clear = in.begin + 9, n = 0, made = 0;  // bit behind the last Clear, codes since it
  team.each_lane([&](std::uint32_t lane) {
    if (lane == 0) shared.stop = Shared::group;
  });
  PENSTOCK_NO_UNROLL
  while (made < wanted) {  // takes 9 bits or more each time, or ends
    const std::uint32_t left = kLzwSteady - n, most = n < kLzwSteady && left < Shared::group ? left : Shared::group;
    lzw_unpack<kOldStyle>(team, in, clear, n, most, shared);
    const auto stop = static_cast<std::uint32_t>(shared.stop);
    const std::uint32_t codes = stop < most ? stop : most, what = stop < most ? shared.code[n + stop] : 0;
    lzw_measure(team, n, codes, made, shared);
    const std::uint32_t until = shared.end < wanted ? shared.end : wanted;
    PENSTOCK_NO_UNROLL
    for (; made < until; made = until - made < Shared::window_bytes ? until : made + Shared::window_bytes)
      lzw_write(team, n, codes, made, until - made < Shared::window_bytes ? until : made + Shared::window_bytes, out,
                shared);
    if (made == wanted) break;
    if (codes == most) {
      if (n < kLzwSteady)
        n += most;
      else
        clear += 12 * most;  // the table is full and widths stay
      continue;
    }
    clear += lzw_bits_before(n + codes, in.late) + lzw_width(n + codes, in.late);
    if (clear > in.end) return finish(DecodeStatus::truncated_input, task.in_bytes, made);
    if (what != kLzwClear)
      return finish(what == kLzwEnd ? DecodeStatus::short_output : DecodeStatus::bad_table, in.byte_before(clear),
                    made);
    n = 0;
  }
  return finish(DecodeStatus::ok, task.in_bytes, wanted);
}
template <class Team, class Shared>
PENSTOCK_HD ChunkStatus decode_lzw_chunk(const Team& team, const DecodeTask& task, LzwVariant variant, Shared& shared) {
  return variant == LzwVariant::standard ? decode_lzw_chunk<false>(team, task, shared)
                                         : decode_lzw_chunk<true>(team, task, shared);
}

}  // namespace penstock::tiff
