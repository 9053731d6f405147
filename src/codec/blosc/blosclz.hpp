// blosclz streams: the format, for the decoder of codec/lz/block.hpp.
// Source: the block format of FastLZ (README.md of the FastLZ project), from which blosclz comes, with its longer
// lengths and distances.  What is refused is what c-blosc 1.21 refuses.
//
// A stream is instructions.  The first byte's upper three bits are 0: literals, the lower five bits and 1 of them.
// 1 to 6: a match of 3 to 8 bytes.  7: a match of 9 bytes and the sum of the bytes that follow, up to the first that is
// not 255.  The distance less one is 13 bits: the lower five, then a byte.  All of them set: two more bytes are added,
// high byte first.  The stream begins with literals, whatever its first three bits say, and ends with literals.
#pragma once
#include <cstdint>
#include <string_view>

#include "codec/lz/block.hpp"

namespace penstock::blosc {

struct Blosclz : lz::ShortByParse<Blosclz> {
  static constexpr std::string_view kName = "blosclz";
  static constexpr std::uint32_t kRoomBehind = 0;
  static constexpr std::uint32_t kLiterals = 32;    ///< instructions below are literals
  static constexpr std::uint32_t kLong = 7 << 5;    ///< and from here on long matches
  static constexpr std::uint32_t kFurthest = 8191;  ///< distance less one that is followed by two more bytes

  [[nodiscard]] PENSTOCK_HD static std::uint32_t front(const std::uint8_t* /*in*/, std::uint32_t /*size*/,
                                                       std::uint32_t /*wanted*/, DecodeStatus& /*status*/) {
    return 0;
  }

  /// Literals and the match behind them, if there is one; as lz::ShortByParse asks for.
  PENSTOCK_HD static std::uint32_t parse(const std::uint8_t* in, std::uint32_t size, std::uint32_t at,
                                         lz::Sequence& s) {
    s = {at, 0, 1, 0};
    if (at == 0 || at >= size) return 0;  // the stream's first byte has other rules
    std::uint32_t end = at, code = in[at];
    if (code < kLiterals) {
      s.literal_at = at + 1;
      s.literals = code + 1;
      end += code + 2;
      if (end >= size) return 0;
      code = in[end];
      if (code < kLiterals) return end - at;
    }
    ++end;
    s.length = (code >> 5) + 2;
    if (code >= kLong) {
      if (end >= size || in[end] == 255) return 0;
      s.length += in[end++];
    }
    if (end >= size) return 0;
    s.offset = (code & 31) << 8 | in[end++];
    if (s.offset == kFurthest) {
      if (end + 1 >= size) return 0;
      s.offset += static_cast<std::uint32_t>(in[end]) << 8 | in[end + 1];
      end += 2;
    }
    ++s.offset;
    return end < size ? end - at : 0;
  }

  template <class Warp>
  PENSTOCK_HD static lz::Sequence read_sequence(const Warp& warp, const std::uint8_t* in, std::uint32_t size,
                                                std::uint32_t capacity, lz::Cursor& c, bool& ends) {
    lz::Sequence s{};
    const auto fail = [&](DecodeStatus status) {
      c.status = status;
      return s;
    };
    if (c.in >= size) return fail(DecodeStatus::truncated_input);
    std::uint32_t code = c.in == 0 ? in[0] & 31 : in[c.in];
    if (code < kLiterals) {
      const std::uint32_t literals = code + 1;
      ++c.in;
      if (literals > size - c.in) return fail(DecodeStatus::truncated_input);
      if (literals > capacity - c.out) return fail(DecodeStatus::output_too_small);
      s.literal_at = c.in;
      s.literals = literals;
      c.in += literals;
      c.out += literals;
      ends = c.in == size;
      if (ends) return s;
      code = in[c.in];
      if (code < kLiterals) return s;
    }
    ++c.in;
    std::uint32_t length = (code >> 5) + 2;
    if (code >= kLong && !lz::read_length(warp, in, size, c.in, length)) return fail(DecodeStatus::truncated_input);
    if (c.in >= size) return fail(DecodeStatus::truncated_input);
    std::uint32_t offset = (code & 31) << 8 | in[c.in++];
    if (offset == kFurthest) {
      if (size - c.in < 2) return fail(DecodeStatus::truncated_input);
      offset += static_cast<std::uint32_t>(in[c.in]) << 8 | in[c.in + 1];
      c.in += 2;
    }
    ++offset;
    if (length > capacity - c.out) return fail(DecodeStatus::output_too_small);
    if (offset > c.out) return fail(DecodeStatus::bad_offset);
    if (c.in == size) return fail(DecodeStatus::bad_end);
    s.offset = offset;
    s.length = length;
    c.out += length;
    return s;
  }
};

}  // namespace penstock::blosc
