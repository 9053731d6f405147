// DEFLATE, zlib and gzip streams decoded by a warp (device/team.hpp).
// Sources: RFC 1951 (DEFLATE), RFC 1950 (zlib), RFC 1952 (gzip).  What is refused is what zlib's inflate refuses; the
// checksum of a gzip header is not looked at.
//
// Symbols are one dependent chain, so one lane reads them; it writes literals and sequences into a tile
// (codec/lz/tile.hpp), and the warp makes the tile's bytes, builds the tables, and sums the checksum at the end.
#pragma once
#include <cstdint>

#include "codec/checksum/sums.hpp"
#include "codec/deflate/bits.hpp"
#include "codec/deflate/huffman.hpp"
#include "codec/lz/tile.hpp"
#include "codec/status.hpp"
#include "device/portable.hpp"
#include "device/team_copy.hpp"

namespace penstock::deflate {

enum class Container : std::uint32_t { raw, zlib, gzip };

inline constexpr std::uint64_t kMaxBytes = 0x7FFFFFFF;
inline constexpr std::uint32_t kMaxMatch = 258;

/// What the warp does next.
enum class Action : std::uint32_t { tile, copy, check, stop };
enum class Phase : std::uint32_t { member, block, symbols, trailer };

/// Memory of the warp.
struct Shared {
  using Tile = lz::Tile<128, 1024>;  // matches of images are short: some 5 bytes with their literals
  struct Tables {
    Code<288, 10> literal;
    Code<32, 8> distance;
    std::uint8_t lengths[320];
  };
  Tile tile;
  std::uint8_t literals[Tile::max_bytes];
  union {
    Tables tables;
    checksum::Shared sums;  // when no tables are needed
  };
  Bits bits;
  Phase phase;
  Action action;
  DecodeStatus status;
  std::uint32_t final_block;
  std::uint32_t copy_from, copy_bytes;
  std::uint32_t ok;  // of a step of the leading lane
  std::uint32_t literal_codes, distance_codes;
};

/// Where the decoder stands, the same in all lanes.
struct Place {
  const std::uint8_t* in;
  std::uint32_t size;
  std::uint8_t* out;
  std::uint32_t capacity;
  std::uint32_t made = 0;          ///< bytes of output
  std::uint32_t member_begin = 0;  ///< of them, those of members before this one
};

/// What a lane has read outside of regions, another one may overwrite from here on.
template <class Warp>
PENSTOCK_HD void all_have_read(const Warp& warp) {
  warp.each_lane([](std::uint32_t) {});
}

/// Runs a step in one lane; what it returns is in shared.status.
template <class Warp, class Step>
PENSTOCK_HD bool one_lane(const Warp& warp, Shared& s, Step step) {
  warp.each_lane([&](std::uint32_t lane) {
    if (lane == 0) s.status = step();
  });
  const bool ok = s.status == DecodeStatus::ok;
  all_have_read(warp);
  return ok;
}

PENSTOCK_HD DecodeStatus read_zlib_header(const Place& p, Bits& bits) {
  const std::uint32_t at = bits.next_byte();
  if (p.size - at < 2) return DecodeStatus::truncated_input;
  const std::uint32_t method = p.in[at], flags = p.in[at + 1];
  if ((method * 256 + flags) % 31 != 0 || (method & 15) != 8 || method >> 4 > 7) return DecodeStatus::bad_magic;
  if ((flags & 32) != 0) return DecodeStatus::needs_dictionary;
  bits.start(p.in, p.size, at + 2);
  return DecodeStatus::ok;
}

PENSTOCK_HD DecodeStatus read_gzip_header(const Place& p, Bits& bits) {
  std::uint32_t at = bits.next_byte();
  if (p.size - at < 10) return DecodeStatus::truncated_input;
  const std::uint8_t* const h = p.in + at;
  const std::uint32_t flags = h[3];
  if (h[0] != 0x1f || h[1] != 0x8b || h[2] != 8 || (flags & 0xe0) != 0) return DecodeStatus::bad_magic;
  at += 10;
  if ((flags & 4) != 0) {  // extra field
    if (p.size - at < 2) return DecodeStatus::truncated_input;
    const std::uint32_t bytes = p.in[at] | static_cast<std::uint32_t>(p.in[at + 1]) << 8;
    at += 2;
    if (p.size - at < bytes) return DecodeStatus::truncated_input;
    at += bytes;
  }
  for (std::uint32_t flag = 8; flag <= 16; flag *= 2) {  // name, comment: end with a 0
    if ((flags & flag) == 0) continue;
    while (at < p.size && p.in[at] != 0) ++at;
    if (at >= p.size) return DecodeStatus::truncated_input;
    ++at;
  }
  if ((flags & 2) != 0) {  // checksum of the header
    if (p.size - at < 2) return DecodeStatus::truncated_input;
    at += 2;
  }
  bits.start(p.in, p.size, at);
  return DecodeStatus::ok;
}

/// Type and sizes of the next block; `codes_of_lengths` when tables follow.
PENSTOCK_HD DecodeStatus read_block_header(const Place& p, Shared& s) {
  Bits bits = s.bits;
  bits.fill(p.in, p.size);
  s.final_block = bits.take(1);
  const std::uint32_t type = bits.take(2);
  if (bits.overrun(p.size)) return DecodeStatus::truncated_input;
  s.literal_codes = 0;
  if (type == 3) return DecodeStatus::bad_block;
  if (type == 0) {
    const std::uint32_t at = bits.next_byte();
    if (p.size - at < 4) return DecodeStatus::truncated_input;
    const std::uint32_t bytes = p.in[at] | static_cast<std::uint32_t>(p.in[at + 1]) << 8;
    const std::uint32_t inverted = p.in[at + 2] | static_cast<std::uint32_t>(p.in[at + 3]) << 8;
    if ((bytes ^ inverted) != 0xFFFF) return DecodeStatus::bad_block;
    if (p.size - at - 4 < bytes) return DecodeStatus::truncated_input;
    s.copy_from = at + 4;
    s.copy_bytes = bytes;
    s.action = Action::copy;
    bits.start(p.in, p.size, at + 4 + bytes);
  } else if (type == 2) {
    s.literal_codes = bits.take(5) + 257;
    s.distance_codes = bits.take(5) + 1;
    const std::uint32_t n = bits.take(4) + 4;
    if (s.literal_codes > 286 || s.distance_codes > 30) return DecodeStatus::bad_block;
    // In the order of their use, 5 bits each: 16 17 18 0 8 7 9 6 10 5, and 11 4 12 3 13 2 14 1 15.
    constexpr std::uint64_t kFirst =
        16 | 17 << 5 | 18 << 10 | 0 << 15 | 8 << 20 | 7ull << 25 | 9ull << 30 | 6ull << 35 | 10ull << 40 | 5ull << 45;
    constexpr std::uint64_t kSecond =
        11 | 4 << 5 | 12 << 10 | 3 << 15 | 13 << 20 | 2ull << 25 | 14ull << 30 | 1ull << 35 | 15ull << 40;
    PENSTOCK_NO_UNROLL
    for (std::uint32_t i = 0; i < 19; ++i) {
      bits.fill(p.in, p.size);
      const std::uint64_t order = i < 10 ? kFirst >> (i * 5) : kSecond >> (i * 5 - 50);
      s.tables.lengths[order & 31] = static_cast<std::uint8_t>(i < n ? bits.take(3) : 0);
    }
    if (bits.overrun(p.size)) return DecodeStatus::truncated_input;
  }
  s.bits = bits;
  return DecodeStatus::ok;
}

/// The lengths of the codes of a dynamic block, which are coded themselves.
PENSTOCK_HD DecodeStatus read_lengths(const Place& p, Shared& s) {
  Bits bits = s.bits;
  const std::uint32_t n = s.literal_codes + s.distance_codes;
  std::uint8_t* const lengths = s.tables.lengths;
  for (std::uint32_t i = 0; i < n;) {
    bits.fill(p.in, p.size);
    const std::uint32_t entry = find(s.tables.distance, bits.peek());
    if (entry == 0) return DecodeStatus::bad_stream;
    bits.drop(entry % 16);
    const std::uint32_t symbol = entry / 16;
    if (symbol < 16) {
      lengths[i++] = static_cast<std::uint8_t>(symbol);
      continue;
    }
    if (symbol == 16 && i == 0) return DecodeStatus::bad_table;
    const std::uint8_t value = symbol == 16 ? lengths[i - 1] : std::uint8_t{0};
    const std::uint32_t repeat = symbol == 16 ? bits.take(2) + 3 : symbol == 17 ? bits.take(3) + 3 : bits.take(7) + 11;
    if (repeat > n - i) return DecodeStatus::bad_table;
    PENSTOCK_NO_UNROLL
    for (std::uint32_t k = 0; k < repeat; ++k) lengths[i++] = value;
  }
  s.bits = bits;
  if (bits.overrun(p.size)) return DecodeStatus::truncated_input;
  return lengths[256] != 0 ? DecodeStatus::ok : DecodeStatus::bad_table;
}

/// Makes the tables of the block.
template <class Warp>
PENSTOCK_HD DecodeStatus build_tables(const Warp& warp, const Place& p, Shared& s) {
  Shared::Tables& t = s.tables;
  std::uint32_t literals = s.literal_codes, distances = s.distance_codes;
  if (literals == 0) {  // fixed codes
    literals = 288;
    distances = 32;
    warp.for_each(320, [&](std::uint32_t i) {
      t.lengths[i] = static_cast<std::uint8_t>(i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : i < 288 ? 8 : 5);
    });
  } else {
    if (!build(warp, t.lengths, 19, Incomplete::never, t.distance)) return DecodeStatus::bad_table;
    if (!one_lane(warp, s, [&] { return read_lengths(p, s); })) return s.status;
  }
  const bool made = build(warp, t.lengths, literals, Incomplete::one_code, t.literal) &&
                    build(warp, t.lengths + literals, distances, Incomplete::one_code, t.distance);
  return made ? DecodeStatus::ok : DecodeStatus::bad_table;
}

/// Extra bits of a length or distance and the least value they stand for; RFC 1951, section 3.2.5.
struct LengthCode {
  std::uint32_t least, extra;
};
/// The length, less 3, of symbol 257 + `code`.
PENSTOCK_HD LengthCode length_range(std::uint32_t code) {
  const std::uint32_t extra = code < 8 || code == 28 ? 0 : (code >> 2) - 1;
  return {code == 28 ? kMaxMatch - 3 : code < 8 ? code : (4 | (code & 3)) << extra, extra};
}
/// The distance, less 1, of symbol `code`.
PENSTOCK_HD LengthCode distance_range(std::uint32_t code) {
  const std::uint32_t extra = code < 4 ? 0 : (code >> 1) - 1;
  return {code < 4 ? code : (2 | (code & 1)) << extra, extra};
}

PENSTOCK_HD bool is_literal(std::uint32_t entry) { return entry - 1 < 256 * 16 - 1; }

/// Reads symbols into the tile until it is full or the block ends.
PENSTOCK_HD DecodeStatus read_symbols(const Place& p, Shared& s, std::uint32_t& sequences, std::uint32_t& made,
                                      bool& ended) {
  Bits bits = s.bits;
  const Shared::Tables& t = s.tables;
  const std::uint32_t before = p.made - p.member_begin;  // bytes that a match may reach
  std::uint32_t n = 0, bytes = 0, start = 0, literals = 0, first_literal = 0;
  DecodeStatus status = DecodeStatus::ok;
  ended = false;
  const auto next_symbol = [&] {
    const std::uint32_t entry = find(t.literal, bits.peek());
    bits.drop(entry % 16);
    return entry;
  };
  const auto add_literal = [&](std::uint32_t entry) {
    s.literals[literals++] = static_cast<std::uint8_t>(entry >> 4);
    ++bytes;
  };
  // Each turn adds a literal and a match at most.
  while (n + 1 < Shared::Tile::max_sequences && bytes + 1 + kMaxMatch <= Shared::Tile::max_bytes) {
    bits.fill(p.in, p.size);
    std::uint32_t entry = next_symbol();
    if (is_literal(entry)) {
      add_literal(entry);
      entry = next_symbol();  // of 15 bits at most, and there are 17
      if (is_literal(entry)) {
        add_literal(entry);
        continue;
      }
    }
    const std::uint32_t symbol = entry / 16;
    ended = symbol == 256;
    if (ended) break;
    status = DecodeStatus::bad_stream;
    if (entry == 0 || symbol > 285) break;
    bits.fill(p.in, p.size);
    const LengthCode lengths = length_range(symbol - 257);
    const std::uint32_t length = lengths.least + bits.take(lengths.extra) + 3;
    const std::uint32_t far = find(t.distance, bits.peek());
    bits.drop(far % 16);
    if (far == 0 || far / 16 > 29) break;
    const LengthCode distances = distance_range(far / 16);
    bits.fill(p.in, p.size);
    const std::uint32_t distance = distances.least + bits.take(distances.extra) + 1;
    status = DecodeStatus::bad_offset;
    if (distance > before + bytes) break;
    status = DecodeStatus::ok;
    lz::enter(s.tile, n++, start, bytes, first_literal, distance);
    bytes += length;
    start = bytes;
    first_literal = literals;
  }
  if (bytes > start) lz::enter(s.tile, n++, start, bytes, first_literal, 1);  // literals without a match
  s.bits = bits;
  sequences = n;
  made = bytes;
  if (bits.overrun(p.size)) return DecodeStatus::truncated_input;
  if (status != DecodeStatus::ok) return status;
  return bytes > p.capacity - p.made ? DecodeStatus::output_too_small : status;
}

/// Goes on until the warp has something to do; s.action says what, s.status why it stops.
template <class Warp>
PENSTOCK_HD void advance(const Warp& warp, const Place& p, Container container, Shared& s) {
  const auto stop = [&](DecodeStatus status) {
    all_have_read(warp);
    warp.each_lane([&](std::uint32_t lane) {
      if (lane != 0) return;
      s.action = Action::stop;
      s.status = status;
    });
  };
  const auto go_to = [&](Phase phase, Action action) {
    all_have_read(warp);
    warp.each_lane([&](std::uint32_t lane) {
      if (lane != 0) return;
      s.phase = phase;
      s.action = action;
    });
  };
  Phase phase = s.phase;
  if (phase == Phase::member) {
    const bool ok = one_lane(warp, s, [&] {
      if (container == Container::headerless) return DecodeStatus::ok;
      return container == Container::zlib ? read_zlib_header(p, s.bits) : read_gzip_header(p, s.bits);
    });
    if (!ok) return stop(s.status);
    phase = Phase::block;
  }
  if (phase == Phase::block) {
    warp.each_lane([&](std::uint32_t lane) {
      if (lane == 0) s.action = Action::tile;
    });
    if (!one_lane(warp, s, [&] { return read_block_header(p, s); })) return stop(s.status);
    if (s.action == Action::copy) {
      if (s.copy_bytes > p.capacity - p.made) return stop(DecodeStatus::output_too_small);
      return go_to(s.final_block != 0 ? Phase::trailer : Phase::block, Action::copy);
    }
    const DecodeStatus built = build_tables(warp, p, s);
    if (built != DecodeStatus::ok) return stop(built);
    phase = Phase::symbols;
  }
  if (phase == Phase::trailer) return go_to(phase, Action::check);
  lz::clear(warp, s.tile);
  std::uint32_t sequences = 0, bytes = 0;
  bool ended = false;
  const bool ok = one_lane(warp, s, [&] {
    const DecodeStatus status = read_symbols(p, s, sequences, bytes, ended);
    s.tile.sequences = sequences;
    s.tile.bytes = bytes;
    s.ok = ended;
    return status;
  });
  if (!ok) return stop(s.status);
  ended = s.ok != 0;
  sequences = s.tile.sequences;
  bytes = s.tile.bytes;
  lz::mark(warp, s.tile, sequences);
  lz::finish(warp, s.tile, sequences, bytes);
  go_to(!ended ? Phase::symbols : s.final_block != 0 ? Phase::trailer : Phase::block, Action::tile);
}

PENSTOCK_HD std::uint32_t little32(const std::uint8_t* at) {
  return at[0] | static_cast<std::uint32_t>(at[1]) << 8 | static_cast<std::uint32_t>(at[2]) << 16 |
         static_cast<std::uint32_t>(at[3]) << 24;
}

/// Looks at what stands behind the last block.  ok: the stream ends well; not_run: another member follows.
template <class Warp>
PENSTOCK_HD DecodeStatus check_member(const Warp& warp, Place& p, Container container, const checksum::Crc& crc32,
                                      Shared& s) {
  std::uint32_t at = s.bits.next_byte();
  all_have_read(warp);
  const std::uint8_t* const data = p.out + p.member_begin;
  const std::uint32_t n = p.made - p.member_begin;
  DecodeStatus status = DecodeStatus::ok;
  if (container == Container::zlib) {
    if (p.size - at < 4) return DecodeStatus::truncated_input;
    const std::uint32_t stored = little32(p.in + at);
    const std::uint32_t sum = checksum::adler32(warp, data, n, s.sums);
    const std::uint32_t big = sum >> 24 | (sum >> 8 & 0xFF00) | (sum & 0xFF00) << 8 | sum << 24;
    if (stored != big) status = DecodeStatus::bad_checksum;
    at += 4;
  } else if (container == Container::gzip) {
    if (p.size - at < 8) return DecodeStatus::truncated_input;
    const std::uint32_t sum = checksum::crc(warp, crc32, data, n, s.sums);
    if (little32(p.in + at) != sum || little32(p.in + at + 4) != n) status = DecodeStatus::bad_checksum;
    at += 8;
  }
  if (status != DecodeStatus::ok) return status;
  if (container == Container::gzip) {
    if (p.size - at >= 2 && p.in[at] == 0x1f && p.in[at + 1] == 0x8b) status = DecodeStatus::not_run;
    while (status == DecodeStatus::ok && at < p.size && p.in[at] == 0) ++at;  // padding
    if (status == DecodeStatus::ok && p.size - at >= 2 && p.in[at] == 0x1f && p.in[at + 1] == 0x8b)
      status = DecodeStatus::not_run;
  }
  warp.each_lane([&](std::uint32_t lane) {
    if (lane != 0) return;
    s.bits.start(p.in, p.size, at);
    s.phase = Phase::member;
  });
  p.member_begin = p.made;
  if (status == DecodeStatus::ok && at != p.size) return DecodeStatus::bad_end;
  return status;
}

/// Decodes one chunk: exactly `task.out_bytes` bytes must come out.  Every turn uses input up, or ends.
template <class Warp>
PENSTOCK_HD ChunkStatus decode_chunk(const Warp& warp, const DecodeTask& task, Container container,
                                     const checksum::Crc& crc32, Shared& s) {
  ChunkStatus result;
  result.status = DecodeStatus::too_large;
  if (task.in_bytes > kMaxBytes || task.out_bytes > kMaxBytes) return result;
  Place p{assume_global(reinterpret_cast<const std::uint8_t*>(task.in)), static_cast<std::uint32_t>(task.in_bytes),
          assume_global(reinterpret_cast<std::uint8_t*>(task.out)), static_cast<std::uint32_t>(task.out_bytes)};
  warp.each_lane([&](std::uint32_t lane) {
    if (lane != 0) return;
    s.bits.start(p.in, p.size, 0);
    s.phase = Phase::member;
  });
  for (;;) {
    advance(warp, p, container, s);
    const Action action = s.action;
    result.status = s.status;
    all_have_read(warp);
    if (action == Action::tile) {
      const std::uint32_t bytes = s.tile.bytes;
      lz::execute<8>(warp, s.tile, s.literals, p.out + p.made);
      p.made += bytes;
      continue;
    }
    if (action == Action::copy) {
      const std::uint32_t from = s.copy_from, bytes = s.copy_bytes;
      all_have_read(warp);
      team_copy(warp, p.out + p.made, p.in + from, bytes);
      p.made += bytes;
      continue;
    }
    if (action == Action::check) {
      result.status = check_member(warp, p, container, crc32, s);
      if (result.status == DecodeStatus::not_run) continue;
      if (result.status == DecodeStatus::ok && p.made < p.capacity) result.status = DecodeStatus::short_output;
    }
    const std::uint32_t at = s.bits.next_byte();
    result.position = at < p.size ? at : p.size;
    result.output_bytes = p.made;
    return result;
  }
}

}  // namespace penstock::deflate
