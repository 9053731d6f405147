// LZ4 frames decoded by a team of lanes (device/team.hpp).
// Source: lz4_Frame_format.md of the lz4 project, version 1.6.  Frames one after the other are one chunk; skippable
// ones are skipped; the legacy format is refused by name, as are dictionaries.  All checksums are verified.
//
// What is refused beyond what liblz4's LZ4F_decompress refuses: a dictionary's number, a content size of 0 that is
// wrong, match offset 0, and blocks with fewer literals at their end than the format asks for: liblz4 refuses some of
// them.
#pragma once
#include <cstdint>

#include "codec/lz4/decode.hpp"
#include "codec/lz4_frame/xxh32.hpp"

namespace penstock::lz4_frame {

inline constexpr std::uint32_t kMagic = 0x184D2204, kLegacyMagic = 0x184C2102, kSkippableMagic = 0x184D2A50;

/// Memory of a team; SharedT: of its decoder of blocks.
template <class SharedT>
struct Shared {
  SharedT block;
  Xxh32Shared sum;
};

/// What stands in front of the blocks of a frame.
struct Header {
  DecodeStatus status = DecodeStatus::ok;
  std::uint32_t end = 0;  ///< of the header, or of what is wrong, or of a skippable frame
  bool skippable = false, linked = false, block_sums = false, content_sum = false, has_size = false;
  std::uint32_t max_bytes = 0;  ///< of a block
  std::uint64_t size = 0;       ///< of the content
};

PENSTOCK_HD Header read_header(const std::uint8_t* in, std::uint32_t size, std::uint32_t at) {
  Header h;
  const auto stop = [&](DecodeStatus status, std::uint32_t position) {
    h.status = status;
    h.end = position;
    return h;
  };
  if (size - at < 4) return stop(DecodeStatus::truncated_input, size);
  const std::uint32_t magic = little32(in + at);
  if (magic == kLegacyMagic) return stop(DecodeStatus::legacy_frame, at);
  h.skippable = (magic & ~15u) == kSkippableMagic;
  if (!h.skippable && magic != kMagic) return stop(DecodeStatus::bad_magic, at);
  at += 4;
  if (h.skippable) {
    if (size - at < 4) return stop(DecodeStatus::truncated_input, size);
    const std::uint32_t bytes = little32(in + at);
    at += 4;
    if (size - at < bytes) return stop(DecodeStatus::truncated_input, size);
    return stop(DecodeStatus::ok, at + bytes);
  }
  const std::uint32_t begin = at;
  if (size - at < 3) return stop(DecodeStatus::truncated_input, size);
  const std::uint32_t flags = in[at], block = in[at + 1];
  if (flags >> 6 != 1 || (flags & 2) != 0) return stop(DecodeStatus::unsupported_feature, at);
  if ((block & 0x8F) != 0) return stop(DecodeStatus::unsupported_feature, at + 1);
  if (block >> 4 < 4) return stop(DecodeStatus::bad_block, at + 1);
  h.linked = (flags & 32) == 0;
  h.block_sums = (flags & 16) != 0;
  h.has_size = (flags & 8) != 0;
  h.content_sum = (flags & 4) != 0;
  h.max_bytes = 1u << (2 * (block >> 4) + 8);
  at += 2;
  if (size - at < (h.has_size ? 8u : 0u) + ((flags & 1) != 0 ? 4u : 0u) + 1)
    return stop(DecodeStatus::truncated_input, size);
  if (h.has_size) {
    h.size = little32(in + at) | static_cast<std::uint64_t>(little32(in + at + 4)) << 32;
    at += 8;
  }
  if ((flags & 1) != 0) at += 4;
  if (in[at] != (xxh32_finish(nullptr, in + begin, at - begin) >> 8 & 255)) return stop(DecodeStatus::bad_checksum, at);
  if ((flags & 1) != 0) return stop(DecodeStatus::needs_dictionary, at - 4);
  return stop(DecodeStatus::ok, at + 1);
}

/// Where the decoder stands, the same in all lanes.
struct Place {
  const std::uint8_t* in;
  std::uint32_t size;
  std::uint8_t* out;
  std::uint32_t capacity;
  std::uint32_t at = 0;    ///< in the input
  std::uint32_t made = 0;  ///< bytes of output
};

/// Decodes the block at p.at, of the frame whose output begins at `begin`.  `ends`: it was the mark behind the last
/// one.
template <class Team, class SharedT>
PENSTOCK_HD DecodeStatus decode_block(const Team& team, Place& p, const Header& h, std::uint32_t begin, bool& ends,
                                      Shared<SharedT>& shared) {
  if (p.size - p.at < 4) return DecodeStatus::truncated_input;
  const std::uint32_t word = little32(p.in + p.at);
  const std::uint32_t bytes = word & 0x7FFFFFFF;
  if (bytes > h.max_bytes) return DecodeStatus::bad_block;
  p.at += 4;
  ends = word == 0;
  if (ends) return DecodeStatus::ok;
  const std::uint32_t sum_bytes = h.block_sums ? 4 : 0;
  if (p.size - p.at < bytes + sum_bytes) return DecodeStatus::truncated_input;
  if (h.block_sums && xxh32(team, p.in + p.at, bytes, shared.sum) != little32(p.in + p.at + bytes)) {
    p.at += bytes;
    return DecodeStatus::bad_checksum;
  }
  const std::uint32_t left = p.capacity - p.made;
  if (word >> 31 != 0) {  // stored
    if (bytes > left) return DecodeStatus::output_too_small;
    team_copy(team, p.out + p.made, p.in + p.at, bytes);
    p.made += bytes;
  } else {
    // Matches of a linked block reach back to the beginning of the frame, as far as their 16 bits go.
    const std::uint32_t from = h.linked ? begin : p.made, before = p.made - from;
    const lz::Cursor end = lz::decode_block<lz4::Format>(team, p.in + p.at, bytes, p.out + from,
                                                         before + (left < h.max_bytes ? left : h.max_bytes),
                                                         shared.block, lz::Cursor{DecodeStatus::ok, 0, before});
    p.made = from + end.out;
    if (end.status != DecodeStatus::ok) {
      p.at += end.in;
      return end.status;
    }
    // Here there may be room behind the block, so that nothing else holds its end against the format's rules.
    if (end.last_literals < lz4::kLastLiterals && end.out - end.last_literals > before) {
      p.at += bytes;
      return DecodeStatus::bad_end;
    }
  }
  p.at += bytes + sum_bytes;
  return DecodeStatus::ok;
}

/// Decodes a frame and moves `p` behind it.  Every turn uses input up.
template <class Team, class SharedT>
PENSTOCK_HD DecodeStatus decode_frame(const Team& team, Place& p, Shared<SharedT>& shared) {
  const Header h = read_header(p.in, p.size, p.at);
  p.at = h.end;
  if (h.status != DecodeStatus::ok || h.skippable) return h.status;
  const std::uint32_t begin = p.made;
  if (h.has_size && h.size > p.capacity - begin) return DecodeStatus::output_too_small;
  for (bool ends = false; !ends;) {
    const DecodeStatus status = decode_block(team, p, h, begin, ends, shared);
    if (status != DecodeStatus::ok) return status;
  }
  if (h.has_size && h.size != p.made - begin) return DecodeStatus::bad_header;
  if (!h.content_sum) return DecodeStatus::ok;
  if (p.size - p.at < 4) return DecodeStatus::truncated_input;
  if (xxh32(team, p.out + begin, p.made - begin, shared.sum) != little32(p.in + p.at))
    return DecodeStatus::bad_checksum;
  p.at += 4;
  return DecodeStatus::ok;
}

/// Decodes one chunk of one or more frames: exactly `task.out_bytes` bytes must come out.
template <class Team, class SharedT>
PENSTOCK_HD ChunkStatus decode_chunk(const Team& team, const DecodeTask& task, Shared<SharedT>& shared) {
  ChunkStatus result;
  result.status = DecodeStatus::too_large;
  if (task.in_bytes > lz::kMaxBytes || task.out_bytes > lz::kMaxBytes) return result;
  Place p{assume_global(reinterpret_cast<const std::uint8_t*>(task.in)), static_cast<std::uint32_t>(task.in_bytes),
          assume_global(reinterpret_cast<std::uint8_t*>(task.out)), static_cast<std::uint32_t>(task.out_bytes)};
  do {
    result.status = decode_frame(team, p, shared);
  } while (result.status == DecodeStatus::ok && p.at < p.size);
  if (result.status == DecodeStatus::ok && p.made < p.capacity) result.status = DecodeStatus::short_output;
  result.position = p.at;
  result.output_bytes = p.made;
  return result;
}

}  // namespace penstock::lz4_frame
