// Snappy streams: the format, for the decoder of codec/lz/block.hpp.
// Source: format_description.txt of the snappy project.  What is refused is what libsnappy 1.1 refuses.
#pragma once
#include <cstdint>
#include <string_view>

#include "codec/lz/block.hpp"

namespace penstock::blosc {

struct Snappy : lz::ShortByParse<Snappy> {
  static constexpr std::string_view kName = "snappy";
  static constexpr std::uint32_t kRoomBehind = 0;

  /// The decoded size: seven bits a byte, lowest first, of 32 bits in all.
  [[nodiscard]] PENSTOCK_HD static std::uint32_t front(const std::uint8_t* in, std::uint32_t size, std::uint32_t wanted,
                                                       DecodeStatus& status) {
    std::uint64_t said = 0;
    for (std::uint32_t i = 0; i < 5; ++i) {
      status = DecodeStatus::truncated_input;
      if (i >= size) return 0;
      said |= static_cast<std::uint64_t>(in[i] & 127) << (7 * i);
      if (in[i] >= 128) continue;
      status = said == wanted ? DecodeStatus::ok : DecodeStatus::bad_header;
      return i + 1;
    }
    status = DecodeStatus::bad_header;
    return 0;
  }

  /// Bytes of the offset behind a tag that is not one of literals.
  PENSTOCK_HD static std::uint32_t offset_bytes(std::uint32_t tag) { return (tag & 3) == 3 ? 4 : tag & 3; }
  /// The match of a tag, whose offset stands at `at`.
  PENSTOCK_HD static void read_match(const std::uint8_t* in, std::uint32_t at, std::uint32_t tag, lz::Sequence& s) {
    s.offset = in[at];
    if ((tag & 3) == 1) {
      s.offset |= (tag >> 5) << 8;
      s.length = (tag >> 2 & 7) + 4;
      return;
    }
    s.offset |= static_cast<std::uint32_t>(in[at + 1]) << 8;
    if ((tag & 3) == 3)
      s.offset |= static_cast<std::uint32_t>(in[at + 2]) << 16 | static_cast<std::uint32_t>(in[at + 3]) << 24;
    s.length = (tag >> 2) + 1;
  }

  /// Literals and the match behind them, if there is one; as lz::ShortByParse asks for.
  PENSTOCK_HD static std::uint32_t parse(const std::uint8_t* in, std::uint32_t size, std::uint32_t at,
                                         lz::Sequence& s) {
    s = {at, 0, 1, 0};
    if (at >= size) return 0;
    std::uint32_t end = at, tag = in[at];
    if ((tag & 3) == 0) {
      s.literals = (tag >> 2) + 1;
      ++end;
      if (s.literals == 61) {  // the length is the next byte
        if (end >= size) return 0;
        s.literals = in[end++] + 1u;
      } else if (s.literals > 61) {
        return 0;
      }
      s.literal_at = end;
      end += s.literals;
      if (end >= size) return 0;
      tag = in[end];
      if ((tag & 3) == 0) return end - at < 256 ? end - at : 0;
    }
    const std::uint32_t match = end + 1;
    end = match + offset_bytes(tag);
    if (end >= size || end - at > 255) return 0;
    read_match(in, match, tag, s);
    return end - at;
  }

  template <class Warp>
  PENSTOCK_HD static lz::Sequence read_sequence(const Warp& /*warp*/, const std::uint8_t* in, std::uint32_t size,
                                                std::uint32_t capacity, lz::Cursor& c, bool& ends) {
    lz::Sequence s{};
    const auto fail = [&](DecodeStatus status) {
      c.status = status;
      return s;
    };
    if (c.in >= size) return fail(DecodeStatus::truncated_input);
    std::uint32_t tag = in[c.in++];
    if ((tag & 3) == 0) {
      std::uint32_t less_one = tag >> 2;
      if (less_one >= 60) {
        const std::uint32_t bytes = less_one - 59;
        if (size - c.in < bytes) return fail(DecodeStatus::truncated_input);
        less_one = 0;
        for (std::uint32_t k = 0; k < bytes; ++k) less_one |= static_cast<std::uint32_t>(in[c.in + k]) << (8 * k);
        c.in += bytes;
      }
      if (less_one >= size - c.in) return fail(DecodeStatus::truncated_input);
      if (less_one >= capacity - c.out) return fail(DecodeStatus::output_too_small);
      s.literal_at = c.in;
      s.literals = less_one + 1;
      c.in += s.literals;
      c.out += s.literals;
      ends = c.in == size;
      if (ends) return s;
      tag = in[c.in];
      if ((tag & 3) == 0) return s;
      ++c.in;
    }
    if (size - c.in < offset_bytes(tag)) return fail(DecodeStatus::truncated_input);
    lz::Sequence match{};
    read_match(in, c.in, tag, match);
    if (match.length > capacity - c.out) return fail(DecodeStatus::output_too_small);
    if (match.offset == 0 || match.offset > c.out) return fail(DecodeStatus::bad_offset);
    c.in += offset_bytes(tag);
    c.out += match.length;
    s.offset = match.offset;
    s.length = match.length;
    ends = c.in == size;
    return s;
  }
};

}  // namespace penstock::blosc
