// One block of a frame, made by a warp: matches, then literals and sequences entropy coded (RFC 8878, 3.1.1.2 and
// 3.1.1.3).  Matches stay inside the block and offsets are not repeated from block to block, so blocks do not wait for
// each other.
#pragma once
#include <cstdint>

#include "codec/lz/find.hpp"
#include "codec/zstd/encode/codes.hpp"
#include "codec/zstd/encode/huffman.hpp"
#include "device/team_copy.hpp"

namespace penstock::zstd {

inline constexpr std::uint32_t kEncodedBlock = lz::kSegmentBytes;
/// Shorter matches cost more bits than their literals: the tables of sequences are the predefined ones.
inline constexpr std::uint32_t kEncodedMatch = 6;

/// A sequence between the passes.
struct EncodedSequence {
  std::uint16_t literals, length, offset;
};

/// What is known of a block.
struct BlockMade {
  std::uint32_t literals;  ///< all of the block, also those behind the last match
  std::uint32_t sequences;
  std::uint32_t bytes;   ///< of its content; 0: it is stored raw
  std::uint32_t out_at;  ///< its header, in the output of the chunk
};

/// Scratch of a block of at most `room` bytes, a multiple of 16.
struct BlockScratch {
  std::uint8_t* literals;
  EncodedSequence* sequences;
  std::uint8_t* content;
  std::uint32_t room;  ///< of literals and of content

  PENSTOCK_HD static constexpr std::uint32_t sequence_bytes(std::uint32_t room) {
    return ((room / kEncodedMatch + 1) * static_cast<std::uint32_t>(sizeof(EncodedSequence)) + 15) / 16 * 16;
  }
  PENSTOCK_HD static constexpr std::uint64_t bytes(std::uint32_t room) {
    return 2 * std::uint64_t{room} + sequence_bytes(room);
  }
  PENSTOCK_HD static BlockScratch at(std::uint8_t* begin, std::uint32_t room) {
    return {begin, reinterpret_cast<EncodedSequence*>(begin + room), begin + room + sequence_bytes(room), room};
  }
};

/// Keeps sequences and their literals.
template <class Warp>
struct SequenceKeeper {
  const Warp& warp;
  const std::uint8_t* in;
  const BlockScratch& scratch;
  BlockMade& made;

  template <class Var>
  PENSTOCK_HD void operator()(Var& found, std::uint32_t count) {
    constexpr std::uint32_t kAlone = 32;  // literals that a lane copies by itself
    auto ends = warp.inclusive_sum(
        warp.map([&](std::uint32_t lane) { return lane < count ? Warp::at(found, lane).literals : 0; }));
    warp.each_lane([&](std::uint32_t lane) {
      if (lane >= count) return;
      const lz::Found& f = Warp::at(found, lane);
      scratch.sequences[made.sequences + lane] = {static_cast<std::uint16_t>(f.literals),
                                                  static_cast<std::uint16_t>(f.length),
                                                  static_cast<std::uint16_t>(f.offset)};
      if (f.literals > kAlone) return;
      std::uint8_t* to = scratch.literals + made.literals + Warp::at(ends, lane) - f.literals;
      for (std::uint32_t i = 0; i < f.literals; ++i) to[i] = in[f.literal_at + i];
    });
    std::uint32_t from = 0;
    while (from < count) {
      const std::uint32_t next = warp.first(warp.map(
          [&](std::uint32_t lane) { return lane >= from && lane < count && Warp::at(found, lane).literals > kAlone; }));
      if (next == Warp::lanes) break;
      const lz::Found f = lz::found_of(warp, found, next);
      team_copy(warp, scratch.literals + made.literals + warp.broadcast(ends, next) - f.literals, in + f.literal_at,
                f.literals);
      from = next + 1;
    }
    made.literals += warp.broadcast(ends, Warp::lanes - 1);
    made.sequences += count;
  }
};

/// Pass 1: the sequences and literals of the block [begin, end) of a chunk of `n` bytes.
template <class Warp>
PENSTOCK_HD void find_block(const Warp& warp, const std::uint8_t* in, std::uint32_t n, std::uint32_t begin,
                            std::uint32_t end, const BlockScratch& scratch, BlockMade* record,
                            lz::FinderShared& shared) {
  BlockMade made{};
  std::uint32_t literal_at = begin;
  // What the finder loads must lie in the chunk.
  const std::uint32_t last_end = n < 3 ? 0 : n - 3 < end ? n - 3 : end;
  if (n >= lz::kLoadsAhead && last_end >= begin + kEncodedMatch) {
    const std::uint32_t by_end = last_end - kEncodedMatch, by_loads = n - lz::kLoadsAhead;
    const lz::Bounds bounds{begin, by_end < by_loads ? by_end : by_loads, last_end, kEncodedMatch};
    SequenceKeeper<Warp> keep{warp, in, scratch, made};
    if (bounds.last_start >= begin)
      literal_at =
          lz::find_matches(warp, in, bounds, shared, [&](auto& found, std::uint32_t count) { keep(found, count); });
  }
  team_copy(warp, scratch.literals + made.literals, in + literal_at, end - literal_at);
  made.literals += end - literal_at;
  warp.each_lane([&](std::uint32_t lane) {
    if (lane == 0) *record = made;
  });
}

/// Shared memory of the second pass.
struct BlockShared {
  HuffmanCoder huffman;
  EncodedSequence sequences[32];
  BitWriter writer;
  std::uint32_t state[3];
  std::uint32_t bytes, possible;
};

/// The header of a literals section: type 0 raw, 1 one byte repeated (3.1.1.3.1.1).
PENSTOCK_HD void put_plain_header(BitWriter& out, std::uint32_t type, std::uint32_t literals) {
  if (literals < 32) {
    out.byte(static_cast<std::uint8_t>(type | literals << 3));
    return;
  }
  const std::uint32_t bytes = literals < 4096 ? 2 : 3;
  out.put(type | (bytes == 2 ? 1u : 3u) << 2, 4);
  out.put(literals, 8 * bytes - 4);
}

/// How compressed literals are split and how long their header is.
struct LiteralFormat {
  std::uint32_t streams, size_bits, header_bytes, format;
  PENSTOCK_HD static LiteralFormat of(std::uint32_t literals) {
    if (literals < 1024) return {1, 10, 3, 0};
    if (literals < 16384) return {4, 14, 4, 2};
    return {4, 18, 5, 3};
  }
};

/// Raw literals, or one byte for all of them.
template <class Warp>
PENSTOCK_HD std::uint32_t put_plain_literals(const Warp& warp, const std::uint8_t* literals, std::uint32_t n,
                                             std::uint8_t* out, std::uint32_t room, BlockShared& shared) {
  const bool same = n > 0 && shared.huffman.symbols == 1;
  if (n + 3 > room && (!same || room < 4)) return 0;
  warp.each_lane([&](std::uint32_t lane) {
    if (lane != 0) return;
    BitWriter header = BitWriter::make(out, 0, room);
    put_plain_header(header, same ? 1 : 0, n);
    if (same) header.byte(literals[0]);
    shared.bytes = header.at;
  });
  const std::uint32_t at = shared.bytes;
  if (same) return at;
  team_copy(warp, out + at, literals, n);
  return at + n;
}

/// The literals section (3.1.1.3.1) at `out`; its bytes, 0 when the block is to be stored raw.
template <class Warp>
PENSTOCK_HD std::uint32_t put_literals(const Warp& warp, const std::uint8_t* literals, std::uint32_t n,
                                       std::uint8_t* out, std::uint32_t room, BlockShared& shared) {
  constexpr std::uint32_t kFewest = 64;  // fewer are not worth a description
  HuffmanCoder& coder = shared.huffman;
  warp.for_each(256, [&](std::uint32_t s) { coder.count[s] = 0; });
  warp.for_each(n, [&](std::uint32_t i) { atomic_add(&coder.count[literals[i]], 1); });
  make_code(warp, coder);
  const LiteralFormat format = LiteralFormat::of(n);
  // The description goes where it belongs; then it is known whether all this is shorter than the literals.
  warp.each_lane([&](std::uint32_t lane) {
    if (lane != 0) return;
    shared.possible = 0;
    if (n < kFewest || coder.symbols < 2) return;
    BitWriter writer = BitWriter::make(out, format.header_bytes, room);
    if (!put_weights(writer, coder)) return;
    std::uint64_t bits = 0;
    for (std::uint32_t s = 0; s <= coder.last; ++s) bits += std::uint64_t{coder.count[s]} * coder.length[s];
    const std::uint64_t most = writer.at + 6 + bits / 8 + format.streams;
    shared.possible = most < n ? 1 : 0;
    shared.bytes = writer.at;
  });
  if (shared.possible == 0) return put_plain_literals(warp, literals, n, out, room, shared);
  const std::uint32_t jump = shared.bytes, each = format.streams == 1 ? n : (n + 3) / 4;
  std::uint32_t at = format.streams == 1 ? jump : jump + 6;
  for (std::uint32_t s = 0; s < format.streams; ++s) {
    const std::uint32_t begin = s * each, end = s + 1 == format.streams ? n : begin + each;
    const std::uint32_t bytes = put_stream(warp, coder, literals, begin, end, out + at);
    at += bytes;
    if (s + 1 == format.streams) break;
    warp.each_lane([&](std::uint32_t lane) {
      if (lane < 2) out[jump + 2 * s + lane] = static_cast<std::uint8_t>(bytes >> (8 * lane));
    });
  }
  warp.each_lane([&](std::uint32_t lane) {
    if (lane != 0) return;
    BitWriter header = BitWriter::make(out, 0, format.header_bytes);
    header.put(2 | format.format << 2, 4);
    header.put(n, format.size_bits);
    header.put(at - format.header_bytes, format.size_bits);
  });
  return at;
}

/// The codes of a sequence with the bits behind them.
struct SequenceCodes {
  std::uint32_t literal, match, offset, offset_value;
  EncodedSequence sequence;
  PENSTOCK_HD explicit SequenceCodes(const EncodedSequence& s)
      : literal(literal_code(s.literals)),
        match(match_code(s.length)),
        offset(high_bit(s.offset + 3u)),
        offset_value(s.offset + 3u),
        sequence(s) {}
  PENSTOCK_HD void put_extra(BitWriter& out) const {
    // Every base is a multiple of what its extra bits count to.
    out.put(sequence.literals, literal_extra(literal));
    out.put(sequence.length - 3u, match_extra(match));
    out.put(offset_value, offset);
  }
};

/// The sequences section (3.1.1.3.2) at `out`, which has `room`; its bytes, 0 when that does not suffice.
template <class Warp>
PENSTOCK_HD std::uint32_t put_sequences(const Warp& warp, const EncodedSequence* sequences, std::uint32_t n,
                                        std::uint8_t* out, std::uint32_t room, const PredefinedCoders& coders,
                                        BlockShared& shared) {
  warp.each_lane([&](std::uint32_t lane) {
    if (lane != 0) return;
    BitWriter& writer = shared.writer;
    writer = BitWriter::make(out, 0, room);
    for (std::uint32_t& state : shared.state) state = 0;
    if (n < 128) {
      writer.byte(static_cast<std::uint8_t>(n));
    } else {
      writer.byte(static_cast<std::uint8_t>((n >> 8) + 128));
      writer.byte(static_cast<std::uint8_t>(n));
    }
    if (n > 0) writer.byte(0);  // all tables are predefined
  });
  // From the last one on.  The warp loads, one lane writes: each state depends on the one before.
  for (std::uint32_t left = n; left > 0;) {
    const std::uint32_t taken = left < Warp::lanes ? left : Warp::lanes;
    warp.for_each(taken, [&](std::uint32_t i) { shared.sequences[i] = sequences[left - taken + i]; });
    warp.each_lane([&](std::uint32_t lane) {
      if (lane != 0) return;
      BitWriter writer = shared.writer;
      std::uint32_t literal = shared.state[0], offset = shared.state[1], match = shared.state[2];
      for (std::uint32_t k = taken; k-- > 0;) {
        const SequenceCodes codes(shared.sequences[k]);
        if (left == n && k + 1 == taken) {
          match = coders.match.begin(codes.match);
          offset = coders.offset.begin(codes.offset);
          literal = coders.literal.begin(codes.literal);
        } else {
          offset = coders.offset.put(writer, codes.offset, offset);
          match = coders.match.put(writer, codes.match, match);
          literal = coders.literal.put(writer, codes.literal, literal);
        }
        codes.put_extra(writer);
      }
      if (left == taken) {
        writer.put(match, coders.match.log);
        writer.put(offset, coders.offset.log);
        writer.put(literal, coders.literal.log);
        writer.close();
      }
      shared.writer = writer;
      shared.state[0] = literal;
      shared.state[1] = offset;
      shared.state[2] = match;
    });
    left -= taken;
  }
  warp.each_lane([&](std::uint32_t lane) {
    if (lane == 0) shared.bytes = shared.writer.fits ? shared.writer.at : 0;
  });
  return shared.bytes;
}

/// Pass 2: the content of a block of `n` bytes.
template <class Warp>
PENSTOCK_HD void encode_block(const Warp& warp, std::uint32_t n, const BlockScratch& scratch, BlockMade* record,
                              const PredefinedCoders& coders, BlockShared& shared) {
  const std::uint32_t literals =
      put_literals(warp, scratch.literals, record->literals, scratch.content, scratch.room, shared);
  std::uint32_t bytes = 0;
  if (literals > 0 && literals < n) {
    const std::uint32_t sequences = put_sequences(warp, scratch.sequences, record->sequences,
                                                  scratch.content + literals, n - literals, coders, shared);
    if (sequences > 0 && literals + sequences < n) bytes = literals + sequences;
  }
  warp.each_lane([&](std::uint32_t lane) {
    if (lane == 0) record->bytes = bytes;
  });
}

}  // namespace penstock::zstd
