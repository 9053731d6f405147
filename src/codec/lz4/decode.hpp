// LZ4 blocks decoded by a team of lanes (device/team.hpp).
// Source: lz4_Block_format.md of the lz4 project.  What is refused is what liblz4 1.9 refuses, and match offset 0,
// which the format calls corrupt and liblz4 accepts.
#pragma once
#include <cstdint>

#include "codec/status.hpp"
#include "device/portable.hpp"
#include "device/team_copy.hpp"

namespace penstock::lz4 {

/// What stands around a block.
enum class Framing : std::uint32_t {
  block,      ///< nothing
  numcodecs,  ///< its decoded size in front, 4 bytes, little endian
};

/// Positions are 32 bits wide; sums of two of them still fit.
inline constexpr std::uint64_t kMaxBytes = 0x7FFFFFFF;

/// Where a decoder stands.
struct Cursor {
  DecodeStatus status = DecodeStatus::ok;
  std::uint32_t in = 0;
  std::uint32_t out = 0;
};

// Rules for the end of a block, as liblz4 holds them against the room for the output.
inline constexpr std::uint32_t kLastLiterals = 5;     // no match reaches into the last 5 bytes
inline constexpr std::uint32_t kLastMatchStart = 12;  // nor starts in the last 12

/// Adds the bytes of a long length to `length`, up to kMaxBytes; false when the input ends first.
template <class Team>
PENSTOCK_HD bool read_length(const Team& team, const std::uint8_t* in, std::uint32_t size, std::uint32_t& at,
                             std::uint32_t& length) {
  if (at >= size) return false;
  const std::uint32_t byte = in[at++];
  length += byte;
  if (byte < 255) return true;
  // Rare and long: as many bytes at a time as there are lanes.  Each turn uses input up.
  while (at < size) {
    auto bytes =
        team.map([&](std::uint32_t lane) { return static_cast<std::uint32_t>(lane < size - at ? in[at + lane] : 0); });
    const std::uint32_t full = team.first(team.map([&](std::uint32_t lane) { return Team::at(bytes, lane) < 255; }));
    length += 255 * full;
    if (length > kMaxBytes) length = static_cast<std::uint32_t>(kMaxBytes);
    if (full == Team::lanes) {
      at += full;
      continue;
    }
    if (full >= size - at) break;
    length += team.broadcast(bytes, full);
    at += full + 1;
    return true;
  }
  at = size;
  return false;
}

/// Decodes one block of `size` bytes into at most `capacity`.  Both at most kMaxBytes.  Every sequence uses input up,
/// so there are at most `size` turns.
template <class Team>
PENSTOCK_HD Cursor decode_block(const Team& team, const std::uint8_t* in, std::uint32_t size, std::uint8_t* out,
                                std::uint32_t capacity) {
  Cursor c;
  const auto fail = [&](DecodeStatus status) {
    c.status = status;
    return c;
  };
  for (;;) {
    if (c.in >= size) return fail(DecodeStatus::truncated_input);
    const std::uint32_t token = in[c.in++];

    std::uint32_t literals = token >> 4;
    if (literals == 15 && !read_length(team, in, size, c.in, literals)) return fail(DecodeStatus::truncated_input);
    if (literals > size - c.in) return fail(DecodeStatus::truncated_input);
    if (literals > capacity - c.out) return fail(DecodeStatus::output_too_small);
    team_copy(team, out + c.out, in + c.in, literals);
    c.in += literals;
    c.out += literals;
    if (c.in == size) return c;
    if (c.out + kLastMatchStart > capacity) return fail(DecodeStatus::bad_end);

    if (size - c.in < 2) return fail(DecodeStatus::truncated_input);
    const std::uint32_t offset = in[c.in] | static_cast<std::uint32_t>(in[c.in + 1]) << 8;
    c.in += 2;
    if (offset == 0 || offset > c.out) return fail(DecodeStatus::bad_offset);
    std::uint32_t length = token & 15;
    if (length == 15 && !read_length(team, in, size, c.in, length)) return fail(DecodeStatus::truncated_input);
    length += 4;
    if (length > capacity - c.out) return fail(DecodeStatus::output_too_small);
    if (length + kLastLiterals > capacity - c.out) return fail(DecodeStatus::bad_end);
    team_repeat(team, out + c.out, offset, length);
    c.out += length;
  }
}

/// Decodes one chunk: exactly `task.out_bytes` bytes must come out.
template <class Team>
PENSTOCK_HD ChunkStatus decode_chunk(const Team& team, const DecodeTask& task, Framing framing) {
  ChunkStatus result;
  result.status = DecodeStatus::too_large;
  if (task.in_bytes > kMaxBytes || task.out_bytes > kMaxBytes) return result;
  const auto* in = reinterpret_cast<const std::uint8_t*>(task.in);
  auto* out = reinterpret_cast<std::uint8_t*>(task.out);
  auto size = static_cast<std::uint32_t>(task.in_bytes);
  const auto wanted = static_cast<std::uint32_t>(task.out_bytes);
  std::uint32_t header = 0;
  if (framing == Framing::numcodecs) {
    result.status = DecodeStatus::truncated_input;
    if (size < 4) return result;
    header = 4;
    const std::uint32_t said = in[0] | static_cast<std::uint32_t>(in[1]) << 8 |
                               static_cast<std::uint32_t>(in[2]) << 16 | static_cast<std::uint32_t>(in[3]) << 24;
    result.status = DecodeStatus::bad_header;
    if (said != wanted) return result;
  }
  const Cursor c = decode_block(team, in + header, size - header, out, wanted);
  result.status = c.status == DecodeStatus::ok && c.out < wanted ? DecodeStatus::short_output : c.status;
  result.position = header + c.in;
  result.output_bytes = c.out;
  return result;
}

}  // namespace penstock::lz4
