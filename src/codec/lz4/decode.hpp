// LZ4 blocks: the format, for the decoder of codec/lz/block.hpp.
// Source: lz4_Block_format.md of the lz4 project.  What is refused is what liblz4 1.9 refuses, and match offset 0,
// which the format calls corrupt and liblz4 accepts.
#pragma once
#include <cstdint>
#include <string_view>

#include "codec/lz/block.hpp"
#include "codec/lz4/format.hpp"
#include "codec/status.hpp"
#include "device/portable.hpp"

namespace penstock::lz4 {

using lz::Cursor;
using lz::kMaxBytes;
using lz::Sequence;
using lz::SharedOfBlock;
using lz::SharedOfWarp;

/// Reads and checks the sequence at c.in; c.out is where it goes.  `ends`: it is the last one of the block.
/// What it holds may be copied also when the status is not ok.
template <class Warp>
PENSTOCK_HD Sequence read_sequence(const Warp& warp, const std::uint8_t* in, std::uint32_t size, std::uint32_t capacity,
                                   Cursor& c, bool& ends) {
  Sequence s{};
  const auto fail = [&](DecodeStatus status) {
    c.status = status;
    return s;
  };
  if (c.in >= size) return fail(DecodeStatus::truncated_input);
  const std::uint32_t token = in[c.in++];
  std::uint32_t literals = token >> 4;
  if (literals == 15 && !lz::read_length(warp, in, size, c.in, literals)) return fail(DecodeStatus::truncated_input);
  if (literals > size - c.in) return fail(DecodeStatus::truncated_input);
  if (literals > capacity - c.out) return fail(DecodeStatus::output_too_small);
  s.literal_at = c.in;
  s.literals = literals;
  c.in += literals;
  c.out += literals;
  ends = c.in == size;
  if (ends) return s;
  if (c.out + kLastMatchStart > capacity) return fail(DecodeStatus::bad_end);

  if (size - c.in < 2) return fail(DecodeStatus::truncated_input);
  const std::uint32_t offset = in[c.in] | static_cast<std::uint32_t>(in[c.in + 1]) << 8;
  c.in += 2;
  if (offset == 0 || offset > c.out) return fail(DecodeStatus::bad_offset);
  std::uint32_t length = token & 15;
  if (length == 15 && !lz::read_length(warp, in, size, c.in, length)) return fail(DecodeStatus::truncated_input);
  length += 4;
  if (length > capacity - c.out) return fail(DecodeStatus::output_too_small);
  if (length + kLastLiterals > capacity - c.out) return fail(DecodeStatus::bad_end);
  s.offset = offset;
  s.length = length;
  c.out += length;
  return s;
}

/// The sequence at `at`, whose lengths have at most one byte more than the token.  The input is long enough.
PENSTOCK_HD Sequence short_sequence(const std::uint8_t* in, std::uint32_t at) {
  Sequence s{};
  const std::uint32_t token = in[at++];
  s.literals = token >> 4;
  if (s.literals == 15) s.literals += in[at++];
  s.literal_at = at;
  at += s.literals;
  s.offset = in[at] | static_cast<std::uint32_t>(in[at + 1]) << 8;
  s.length = (token & 15) + 4;
  if (s.length == 19) s.length += in[at + 2];
  return s;
}

/// How many bytes of input the sequence at `at` takes, if one begins there; 0 when it is not short (255 bytes, lengths
/// as above) or something does not follow it.
PENSTOCK_HD std::uint32_t short_step(const std::uint8_t* in, std::uint32_t size, std::uint32_t at) {
  if (at >= size) return 0;
  std::uint32_t end = at + 1;
  const std::uint32_t token = in[at];
  std::uint32_t literals = token >> 4;
  if (literals == 15) {
    if (end >= size || in[end] == 255) return 0;
    literals += in[end++];
  }
  end += literals + 2;
  if ((token & 15) == 15) {
    if (end >= size || in[end] == 255) return 0;
    ++end;
  }
  return end < size && end - at < 256 ? end - at : 0;
}

/// For lz::decode_chunk.
struct Format {
  Framing framing;

  static constexpr std::string_view kName = "lz4";
  static constexpr std::uint32_t kRoomBehind = kLastMatchStart;

  [[nodiscard]] PENSTOCK_HD std::uint32_t front(const std::uint8_t* in, std::uint32_t size, std::uint32_t wanted,
                                                DecodeStatus& status) const {
    if (framing == Framing::block) return 0;
    status = DecodeStatus::truncated_input;
    if (size < 4) return 0;
    const std::uint32_t said = in[0] | static_cast<std::uint32_t>(in[1]) << 8 |
                               static_cast<std::uint32_t>(in[2]) << 16 | static_cast<std::uint32_t>(in[3]) << 24;
    status = said == wanted ? DecodeStatus::ok : DecodeStatus::bad_header;
    return 4;
  }
  PENSTOCK_HD static std::uint32_t short_step(const std::uint8_t* in, std::uint32_t size, std::uint32_t at) {
    return lz4::short_step(in, size, at);
  }
  PENSTOCK_HD static Sequence short_sequence(const std::uint8_t* in, std::uint32_t /*size*/, std::uint32_t at) {
    return lz4::short_sequence(in, at);
  }
  template <class Warp>
  PENSTOCK_HD static Sequence read_sequence(const Warp& warp, const std::uint8_t* in, std::uint32_t size,
                                            std::uint32_t capacity, Cursor& c, bool& ends) {
    return lz4::read_sequence(warp, in, size, capacity, c, ends);
  }
};

/// Decodes one block of `size` bytes into at most `capacity`.
template <class Team, class SharedT>
PENSTOCK_HD Cursor decode_block(const Team& team, const std::uint8_t* in, std::uint32_t size, std::uint8_t* out,
                                std::uint32_t capacity, SharedT& shared) {
  return lz::decode_block<Format>(team, in, size, out, capacity, shared);
}

/// Decodes one chunk: exactly `task.out_bytes` bytes must come out.
template <class Team, class SharedT>
PENSTOCK_HD ChunkStatus decode_chunk(const Team& team, const DecodeTask& task, Framing framing, SharedT& shared) {
  return lz::decode_chunk(team, Format{framing}, task, shared);
}

}  // namespace penstock::lz4
