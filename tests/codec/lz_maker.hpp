// LZ streams that are right and that no encoder makes: literals and matches of any length and offset, as LZ4, blosclz,
// Snappy and LZ4 frames write them.  (The idea is that of zstd's decodecorpus.)
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "codec/choices.hpp"

namespace penstock::test {

using Data = std::vector<std::uint8_t>;

inline void put_little(Data& to, std::uint64_t value, int bytes) {
  for (int k = 0; k < bytes; ++k) to.push_back(static_cast<std::uint8_t>(value >> (8 * k)));
}

/// Literals and the match behind them.
struct LzStep {
  std::uint32_t literals, offset, length;  ///< length 0: no match; only the last step has none
};

/// What a format can say.
struct LzLimits {
  std::uint32_t min_match, max_match, max_offset;
  std::uint32_t last_literals = 0;     ///< literals behind the last match, at least
  std::uint32_t last_match_start = 0;  ///< bytes from the begin of the last match to the end, at least
};
inline constexpr LzLimits kLz4Limits{4, 1 << 20, 65535, 5, 12}, kBlosclzLimits{3, 1 << 20, 73727, 1, 0},
    kSnappyLimits{1, 64, 1 << 20, 0, 0}, kDeflateLimits{3, 258, 32768, 0, 0};

/// A length or an offset of `least` to `most`: small, at the limits of what a byte or a nibble holds, or any.
inline std::uint32_t choose_number(Choices& choices, std::uint32_t least, std::uint32_t most) {
  static constexpr std::uint32_t kNear[] = {15, 18, 30, 60, 64, 255, 270, 510};
  if (most <= least) return least;
  const std::uint32_t how = choices.below(8);
  const std::uint32_t wanted = how < 4    ? least + choices.below(12)
                               : how == 4 ? kNear[choices.below(8)] + choices.below(7)
                               : how == 5 ? most
                                          : least + choices.below(how == 6 ? 300 : most - least + 1);
  return std::clamp(wanted, least, most);
}

/// Appends `size` bytes to `content` as steps; matches reach back to content[reach] at most.
inline std::vector<LzStep> make_steps(Choices& choices, const LzLimits& limits, std::size_t size, std::size_t reach,
                                      Data& content) {
  std::vector<LzStep> steps;
  std::uint32_t left = static_cast<std::uint32_t>(size);
  const std::uint32_t alphabet = 1 + choices.below(256), ends = choices.one_in(3) ? 6 : 60;
  const auto add_literals = [&](std::uint32_t n) {
    for (std::uint32_t i = 0; i < n; ++i) content.push_back(static_cast<std::uint8_t>(choices.chance() % alphabet));
    left -= n;
  };
  const std::uint32_t behind = std::max(limits.last_match_start, limits.min_match + limits.last_literals);
  while (left >= behind && !choices.one_in(ends)) {
    LzStep step{choices.one_in(3) ? 0 : choose_number(choices, 0, std::min(left - behind, 2000u)), 0, 0};
    add_literals(step.literals);
    const auto made = static_cast<std::uint32_t>(content.size() - reach);
    if (made == 0) continue;  // nothing to repeat yet
    step.offset = choose_number(choices, 1, std::min(made, limits.max_offset));
    step.length = choose_number(choices, limits.min_match, std::min(left - limits.last_literals, limits.max_match));
    for (std::uint32_t i = 0; i < step.length; ++i) content.push_back(content[content.size() - step.offset]);
    left -= step.length;
    steps.push_back(step);
  }
  if (left > 0 || limits.last_literals > 0 || steps.empty()) steps.push_back({left, 0, 0});
  add_literals(left);
  return steps;
}

/// One LZ4 block of the steps whose content begins at content[at].
inline Data lz4_block(const std::vector<LzStep>& steps, const Data& content, std::size_t at) {
  Data out;
  const auto put_rest = [&out](std::uint32_t rest) {
    for (; rest >= 255; rest -= 255) out.push_back(255);
    out.push_back(static_cast<std::uint8_t>(rest));
  };
  for (const LzStep& s : steps) {
    const std::uint32_t match = s.length == 0 ? 0 : s.length - 4;
    out.push_back(static_cast<std::uint8_t>(std::min(s.literals, 15u) << 4 | std::min(match, 15u)));
    if (s.literals >= 15) put_rest(s.literals - 15);
    const auto begin = content.begin() + static_cast<std::ptrdiff_t>(at);
    out.insert(out.end(), begin, begin + s.literals);
    at += s.literals + s.length;
    if (s.length == 0) break;
    put_little(out, s.offset, 2);
    if (match >= 15) put_rest(match - 15);
  }
  return out;
}

/// Adds `n` bytes of the content from `at` on, and moves `at` behind them.
inline void add_literals(Data& out, const Data& content, std::size_t& at, std::uint32_t n) {
  const auto begin = content.begin() + static_cast<std::ptrdiff_t>(at);
  out.insert(out.end(), begin, begin + n);
  at += n;
}

/// A blosclz stream (codec/blosc/blosclz.hpp says what it looks like).
inline Data blosclz_stream(const std::vector<LzStep>& steps, const Data& content, Choices& choices) {
  Data out;
  std::size_t at = 0;
  for (const LzStep& s : steps) {
    for (std::uint32_t left = s.literals; left > 0;) {
      const std::uint32_t n = std::min({left, 32u, choices.one_in(4) ? 1 + choices.below(32) : 32u});
      // The first instruction is literals, whatever its upper three bits say.
      out.push_back(static_cast<std::uint8_t>((n - 1) | (out.empty() ? choices.below(8) << 5 : 0)));
      add_literals(out, content, at, n);
      left -= n;
    }
    at += s.length;
    if (s.length == 0) break;
    const std::uint32_t offset = s.offset - 1, near = std::min(offset, 8191u);
    out.push_back(static_cast<std::uint8_t>(std::min(s.length - 2, 7u) << 5 | near >> 8));
    if (s.length >= 9) {
      std::uint32_t rest = s.length - 9;
      for (; rest >= 255; rest -= 255) out.push_back(255);
      out.push_back(static_cast<std::uint8_t>(rest));
    }
    out.push_back(static_cast<std::uint8_t>(near));
    if (near < 8191) continue;
    out.push_back(static_cast<std::uint8_t>((offset - 8191) >> 8));
    out.push_back(static_cast<std::uint8_t>(offset - 8191));
  }
  return out;
}

/// A Snappy stream, with longer forms of lengths and offsets than needed here and there.
inline Data snappy_stream(const std::vector<LzStep>& steps, const Data& content, Choices& choices) {
  Data out;
  std::size_t rest = content.size();
  for (; rest >= 128; rest >>= 7) out.push_back(static_cast<std::uint8_t>(rest | 128));
  out.push_back(static_cast<std::uint8_t>(rest));
  std::size_t at = 0;
  for (const LzStep& s : steps) {
    for (std::uint32_t left = s.literals; left > 0;) {
      const std::uint32_t n = choices.one_in(4) ? 1 + choices.below(left) : left;
      std::uint32_t bytes = n <= 60 ? 0 : n <= 256 ? 1 : n <= 65536 ? 2 : 3;
      if (choices.one_in(4)) bytes = std::min(4u, bytes + choices.below(4));
      out.push_back(static_cast<std::uint8_t>((bytes == 0 ? n - 1 : 59 + bytes) << 2));
      put_little(out, n - 1, static_cast<int>(bytes));
      add_literals(out, content, at, n);
      left -= n;
    }
    at += s.length;
    if (s.length == 0) break;
    const bool one = s.length >= 4 && s.length <= 11 && s.offset < 2048, two = s.offset < 65536;
    if (one && !choices.one_in(3)) {
      out.push_back(static_cast<std::uint8_t>(1 | (s.length - 4) << 2 | s.offset >> 8 << 5));
      out.push_back(static_cast<std::uint8_t>(s.offset));
    } else {
      const bool four = !two || choices.one_in(3);
      out.push_back(static_cast<std::uint8_t>((four ? 3 : 2) | (s.length - 1) << 2));
      put_little(out, s.offset, four ? 4 : 2);
    }
  }
  return out;
}

}  // namespace penstock::test
