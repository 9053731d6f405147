// The container: frames, blocks and the headers of their sections (RFC 8878, 3.1).
#pragma once
#include <cstdint>

#include "codec/status.hpp"
#include "codec/zstd/decode/bits.hpp"

namespace penstock::zstd {

inline constexpr std::uint32_t kFrameMagic = 0xFD2FB528;
inline constexpr std::uint32_t kSkippableMagic = 0x184D2A50;  // the lowest four bits are free
inline constexpr std::uint32_t kMaxBlockBytes = 128 << 10;
inline constexpr std::uint32_t kNone = ~0u;

// The values of fields of the format.
enum class BlockType : std::uint8_t { raw, rle, compressed };
enum class LiteralType : std::uint8_t { raw, rle, huffman, treeless };
enum class TableMode : std::uint8_t { predefined, one_symbol, described, repeated };

/// The three codes of a sequence, in the order of their table descriptions.
enum Code : std::uint32_t { kLiteralLength, kOffset, kMatchLength };
inline constexpr int kCodes = 3;
PENSTOCK_HD TableMode table_mode(std::uint32_t modes, int code) {
  return static_cast<TableMode>((modes >> (6 - 2 * code)) & 3);
}

// Bits of BlockRecord::flags.
inline constexpr std::uint8_t kFirstBlock = 1, kLastBlock = 2, kChecksumFollows = 4;

/// A block: what its headers say, where its parts go, and what the passes find out.  Positions are in the chunk's
/// input.
struct BlockRecord {
  std::uint32_t chunk = 0;
  std::uint32_t begin = 0, bytes = 0;  ///< the content
  BlockType type = BlockType::raw;
  std::uint8_t flags = 0;
  LiteralType literal_type = LiteralType::raw;
  std::uint8_t literal_streams = 1;
  std::uint32_t literals_begin = 0, literals_packed = 0;      ///< behind their header
  std::uint32_t literals = 0;                                 ///< decoded bytes of literals
  std::uint32_t sequences = 0, sequences_begin = 0;           ///< how many; the byte of the table modes
  std::uint32_t huffman_block = kNone;                        ///< the block that describes the literals' tree
  std::uint32_t table_block[kCodes] = {kNone, kNone, kNone};  ///< the blocks that describe the codes' tables
  std::uint32_t max_bytes = 0;                                ///< a block of this frame has no more, on either side
  std::uint32_t content_bytes = kNone;                        ///< of the frame; kNone when it does not say
  std::uint32_t literal_place = 0, sequence_place = 0;        ///< in the arena, in units of kPlaceBytes
  // Written by the passes.
  std::uint32_t output = 0;          ///< decoded bytes of the block
  std::uint32_t literals_taken = 0;  ///< by its sequences; the rest follows them
  std::uint32_t repeat[3] = {};      ///< repeated offsets behind the block, possibly symbolic (sequences.hpp)
  DecodeStatus literal_status = DecodeStatus::ok, sequence_status = DecodeStatus::ok;

  [[nodiscard]] PENSTOCK_HD bool has_huffman() const {
    return type == BlockType::compressed && literal_type >= LiteralType::huffman;
  }
};

/// What is wrong, and at which byte of the input.
struct Fault {
  DecodeStatus status = DecodeStatus::ok;
  std::uint32_t position = 0;
};

struct FrameHeader {
  std::uint64_t content_bytes = ~std::uint64_t{0};
  std::uint32_t max_block_bytes = 0;
  bool checksum = false;
};

/// Reads the header behind the magic number (3.1.1.1) and moves `at` behind it.
PENSTOCK_HD DecodeStatus read_frame_header(ByteRange in, std::uint32_t& at, FrameHeader& header) {
  if (!in.holds(at, 1)) return DecodeStatus::truncated_input;
  const std::uint32_t descriptor = in.byte(at++);
  const bool single_segment = (descriptor >> 5 & 1) != 0;
  if ((descriptor & 8) != 0) return DecodeStatus::unsupported_feature;  // reserved
  header.checksum = (descriptor & 4) != 0;
  std::uint64_t window = 0;
  if (!single_segment) {
    if (!in.holds(at, 1)) return DecodeStatus::truncated_input;
    const std::uint32_t exponent = in.byte(at) >> 3, mantissa = in.byte(at) & 7;
    ++at;
    if (exponent > 21) return DecodeStatus::unsupported_feature;  // over 2^31, what libzstd refuses
    window = (std::uint64_t{8} + mantissa) << (7 + exponent);
  }
  const std::uint32_t id_bytes = (descriptor & 3) == 3 ? 4 : descriptor & 3;
  if (!in.holds(at, id_bytes)) return DecodeStatus::truncated_input;
  if (in.little(at, id_bytes) != 0) return DecodeStatus::needs_dictionary;
  at += id_bytes;
  const std::uint32_t size_bytes = descriptor >> 6 != 0 ? 1u << (descriptor >> 6) : (single_segment ? 1 : 0);
  if (!in.holds(at, size_bytes)) return DecodeStatus::truncated_input;
  if (size_bytes != 0) {
    header.content_bytes = in.little(at, size_bytes < 4 ? size_bytes : 4);
    if (size_bytes == 2) header.content_bytes += 256;
    if (size_bytes == 8) header.content_bytes |= static_cast<std::uint64_t>(in.little(at + 4, 4)) << 32;
    at += size_bytes;
  }
  if (single_segment) window = header.content_bytes;
  header.max_block_bytes = window < kMaxBlockBytes ? static_cast<std::uint32_t>(window) : kMaxBlockBytes;
  return DecodeStatus::ok;
}

/// Reads the header of a literals section at `at` (3.1.1.3.1.1) into `block`; the position behind the section, kNone
/// when it is wrong.
PENSTOCK_HD std::uint32_t read_literals_header(ByteRange in, std::uint32_t at, std::uint32_t end, BlockRecord& block) {
  const std::uint32_t first = in.byte(at), size_format = first >> 2 & 3;
  block.literal_type = static_cast<LiteralType>(first & 3);
  block.literal_streams = 1;
  std::uint32_t header = 0;
  if (block.literal_type <= LiteralType::rle) {
    header = (size_format & 1) == 0 ? 1 : size_format == 1 ? 2 : 3;
    block.literals = in.little(at, header) >> (header == 1 ? 3 : 4);
    block.literals_packed = block.literal_type == LiteralType::raw ? block.literals : 1;
  } else {
    header = size_format < 2 ? 3 : size_format + 2;
    const std::uint32_t bits = size_format < 2 ? 10 : size_format == 2 ? 14 : 18, mask = (1u << bits) - 1;
    const std::uint64_t fields = in.little(at, 4) | static_cast<std::uint64_t>(in.byte(at + 4)) << 32;
    block.literals = static_cast<std::uint32_t>(fields >> 4) & mask;
    block.literals_packed = static_cast<std::uint32_t>(fields >> (4 + bits)) & mask;
    block.literal_streams = size_format == 0 ? 1 : 4;
  }
  if (end - at < header || block.literals_packed > end - at - header || block.literals > block.max_bytes) return kNone;
  block.literals_begin = at + header;
  return block.literals_begin + block.literals_packed;
}

/// Reads the headers inside a compressed block, whose content is known, into `block`.
PENSTOCK_HD Fault read_section_headers(ByteRange in, BlockRecord& block) {
  const std::uint32_t end = block.begin + block.bytes;
  // libzstd wants two bytes, and fewer than the most.
  if (block.bytes < 2 || block.bytes >= kMaxBlockBytes) return {DecodeStatus::bad_block, block.begin};
  std::uint32_t at = read_literals_header(in, block.begin, end, block);
  if (at == kNone) return {DecodeStatus::bad_block, block.begin};
  // 3.1.1.3.2.1: the number of sequences in 1, 2 or 3 bytes.  0 is written in one byte only.
  const std::uint32_t first = in.byte(at), bytes = first < 128 ? 1 : first < 255 ? 2 : 3;
  const Fault bad = {DecodeStatus::bad_block, at};
  if (at >= end || end - at < bytes) return bad;
  block.sequences = first < 128   ? first
                    : first < 255 ? ((first - 128) << 8) + in.byte(at + 1)
                                  : in.little(at + 1, 2) + 0x7F00;
  at += bytes;
  block.sequences_begin = at;
  if (block.sequences == 0) {
    block.output = block.literals;
    return at == end && bytes == 1 ? Fault{} : bad;
  }
  if (at >= end || (in.byte(at) & 3) != 0) return bad;  // the modes; two bits are reserved
  // A match has 3 bytes or more.
  if (std::uint64_t{block.sequences} * 3 + block.literals > block.max_bytes) return bad;
  return {};
}

/// Which blocks of a chunk described the tables that "treeless" and "repeated" refer to.
struct TableOwners {
  std::uint32_t huffman = kNone;
  std::uint32_t code[kCodes] = {kNone, kNone, kNone};

  /// Takes note of what block number `index` describes and tells it whose tables it uses; false when there is none.
  PENSTOCK_HD bool resolve(ByteRange in, std::uint32_t index, BlockRecord& block) {
    if (block.literal_type == LiteralType::huffman) huffman = index;
    if (block.literal_type == LiteralType::treeless && huffman == kNone) return false;
    block.huffman_block = huffman;
    if (block.sequences == 0) return true;
    const std::uint32_t modes = in.byte(block.sequences_begin);
    for (int c = 0; c < kCodes; ++c) {
      if (table_mode(modes, c) != TableMode::repeated) code[c] = index;
      if (code[c] == kNone) return false;
      block.table_block[c] = code[c];
    }
    return true;
  }
};

/// Calls on_block(record) for the blocks of a frame, whose header ends at `at`; moves `at` behind the frame.
/// `index`: the next block's number in the chunk; `room`: bytes of output that the chunk still has for what the
/// headers promise at least.
template <class OnBlock>
PENSTOCK_HD Fault walk_blocks(ByteRange in, const FrameHeader& frame, std::uint32_t& at, std::uint32_t& index,
                              std::uint32_t& room, OnBlock& on_block) {
  TableOwners owners;
  bool first = true;
  for (bool last = false; !last;) {  // each turn uses up three bytes or more
    const std::uint32_t header_at = at;
    if (!in.holds(at, 3)) return {DecodeStatus::truncated_input, header_at};
    const std::uint32_t header = in.little(at, 3), type = header >> 1 & 3, size = header >> 3;
    at += 3;
    last = (header & 1) != 0;
    if (type == 3 || size > frame.max_block_bytes) return {DecodeStatus::bad_block, header_at};
    BlockRecord block;
    block.type = static_cast<BlockType>(type);
    block.begin = at;
    block.bytes = block.type == BlockType::rle ? 1 : size;
    block.flags = static_cast<std::uint8_t>((first ? kFirstBlock : 0) | (last ? kLastBlock : 0) |
                                            (last && frame.checksum ? kChecksumFollows : 0));
    block.max_bytes = frame.max_block_bytes;
    block.content_bytes = static_cast<std::uint32_t>(frame.content_bytes);  // fits or is kNone: see walk_frames
    block.output = size;
    if (!in.holds(at, block.bytes)) return {DecodeStatus::truncated_input, header_at};
    at += block.bytes;
    std::uint32_t least = size;
    if (block.type == BlockType::compressed) {
      const Fault fault = read_section_headers(in, block);
      if (fault.status != DecodeStatus::ok) return fault;
      if (!owners.resolve(in, index, block)) return {DecodeStatus::bad_table, block.begin};
      least = block.literals + 3 * block.sequences;
    }
    if (least > room) return {DecodeStatus::output_too_small, header_at};
    room -= least;
    on_block(block);
    ++index;
    first = false;
  }
  return {};
}

/// Calls on_block(record) for every block of every frame of a chunk that becomes `room` bytes; huffman_block and
/// table_block count the chunk's blocks.  Says what is wrong with the headers, among it promises of more than `room`.
template <class OnBlock>
PENSTOCK_HD Fault walk_frames(ByteRange in, std::uint32_t room, OnBlock&& on_block) {
  std::uint32_t at = 0, index = 0, left = room;
  if (in.size == 0) return {DecodeStatus::truncated_input, 0};
  while (at < in.size) {  // each turn uses up eight bytes or more
    const std::uint32_t frame_at = at;
    if (!in.holds(at, 4)) return {DecodeStatus::truncated_input, frame_at};
    const std::uint32_t magic = in.little(at, 4);
    at += 4;
    if ((magic & ~15u) == kSkippableMagic) {  // 3.1.2
      const std::uint32_t bytes = in.little(at, 4);
      if (!in.holds(at, 4) || !in.holds(at + 4, bytes)) return {DecodeStatus::truncated_input, frame_at};
      at += 4 + bytes;
      continue;
    }
    if (magic != kFrameMagic) return {DecodeStatus::bad_magic, frame_at};
    FrameHeader frame;
    const DecodeStatus status = read_frame_header(in, at, frame);
    if (status != DecodeStatus::ok) return {status, frame_at};
    if (frame.content_bytes != ~std::uint64_t{0} && frame.content_bytes > room)
      return {DecodeStatus::output_too_small, frame_at};
    const Fault fault = walk_blocks(in, frame, at, index, left, on_block);
    if (fault.status != DecodeStatus::ok) return fault;
    if (frame.checksum) {
      if (!in.holds(at, 4)) return {DecodeStatus::truncated_input, at};
      at += 4;
    }
  }
  return {};
}

}  // namespace penstock::zstd
