// Blocks of LZ sequences whose fields are whole bytes (LZ4, blosclz, Snappy), decoded by a team of lanes
// (device/team.hpp).
//
// Sequences are short and each says where the next one begins, so a lane per byte of one sequence at a time would
// mostly wait.  Instead the leading 32 lanes read a window of the input as if a sequence began at every byte of it,
// walk along those that really do, and fill a tile (codec/lz/tile.hpp), which then the whole team writes.  What is
// long, or near an end where the format has rules, or wrong, is taken one sequence at a time; only that way finds
// errors, so their places do not depend on the tiles.
//
// A Format is a struct, passed by value, of which everything but the first is static:
//   front(in, size, wanted, status) -> bytes   what stands in front of the sequences; a status other than ok refuses it
//   kRoomBehind                                bytes of output that must be left behind a sequence in a tile
//   short_step(in, size, at) -> bytes          input that the sequence at `at` takes, if one begins there; 0 when that
//                                              is more than 255, or nothing follows it, or it is not common
//   short_sequence(in, size, at) -> Sequence   that sequence; without a match, with length 0 and offset 1
//   read_sequence(warp, in, size, capacity, c, ends) -> Sequence
//                                              reads and checks the sequence at c.in, which goes to c.out, and moves
//                                              both behind it; `ends`: it is the last one.  What it returns is copied
//                                              also when c.status is not ok.  It uses input up, or sets a status.
#pragma once
#include <cstdint>

#include "codec/lz/tile.hpp"
#include "codec/status.hpp"
#include "device/portable.hpp"
#include "device/team_copy.hpp"

namespace penstock::lz {

/// Positions are 32 bits wide; sums of two of them still fit.
inline constexpr std::uint64_t kMaxBytes = 0x7FFFFFFF;

/// Where a decoder stands.
struct Cursor {
  DecodeStatus status = DecodeStatus::ok;
  std::uint32_t in = 0;
  std::uint32_t out = 0;
  std::uint32_t last_literals = 0;  ///< behind the last match of a whole block
};

/// One sequence as the input has it.  Without initial values: it also lies in shared memory, which takes none.
struct Sequence {
  std::uint32_t literal_at, literals;
  std::uint32_t offset, length;  ///< length 0: no match
};

/// short_step and short_sequence of a Format that has
///   parse(in, size, at, s) -> bytes   both in one: what short_step returns, and the sequence in `s`
/// Its constructor is public, as that of the Format must be: kernels take aggregates.
template <class Format>
struct ShortByParse {  // NOLINT(bugprone-crtp-constructor-accessibility)
  PENSTOCK_HD static std::uint32_t short_step(const std::uint8_t* in, std::uint32_t size, std::uint32_t at) {
    Sequence unused;
    return Format::parse(in, size, at, unused);
  }
  PENSTOCK_HD static Sequence short_sequence(const std::uint8_t* in, std::uint32_t size, std::uint32_t at) {
    Sequence s;
    Format::parse(in, size, at, s);
    return s;
  }
};

/// What the leading lanes tell the team.
template <std::uint32_t kSequences, std::uint32_t kBytes>
struct Shared {
  lz::Tile<kSequences, kBytes> tile;
  std::uint32_t in;  ///< behind the tile's sequences, and behind `single` if there is one
  DecodeStatus status;
  std::uint32_t has_single, is_end;
  Sequence single;  ///< comes after the tile
};
/// For one warp, and for a block of threads.
using SharedOfWarp = Shared<64, 2048>;
using SharedOfBlock = Shared<128, 4096>;

/// Adds the bytes of a long length, of which only the last one is not 255, to `length`, up to kMaxBytes; false when the
/// input ends first.
template <class Warp>
PENSTOCK_HD bool read_length(const Warp& warp, const std::uint8_t* in, std::uint32_t size, std::uint32_t& at,
                             std::uint32_t& length) {
  if (at >= size) return false;
  const std::uint32_t byte = in[at++];
  length += byte;
  if (byte < 255) return true;
  // Rare and long: as many bytes at a time as there are lanes.  Each turn uses input up.
  while (at < size) {
    auto bytes =
        warp.map([&](std::uint32_t lane) { return static_cast<std::uint32_t>(lane < size - at ? in[at + lane] : 0); });
    const std::uint32_t full = warp.first(warp.map([&](std::uint32_t lane) { return Warp::at(bytes, lane) < 255; }));
    length += 255 * full;
    if (length > kMaxBytes) length = static_cast<std::uint32_t>(kMaxBytes);
    if (full == Warp::lanes) {
      at += full;
      continue;
    }
    if (full >= size - at) break;
    length += warp.broadcast(bytes, full);
    at += full + 1;
    return true;
  }
  at = size;
  return false;
}

/// Fills the tile from the input at `at` on and moves `at` behind it.  True when the next sequence must be read alone.
/// Every turn takes a sequence or ends.
template <class Format, class Warp, class TileT>
PENSTOCK_HD bool fill_tile(const Warp& warp, const std::uint8_t* in, std::uint32_t size, std::uint32_t& at,
                           std::uint32_t out, std::uint32_t capacity, TileT& tile) {
  constexpr std::uint32_t kEach = 4;  // bytes of the window a lane looks at
  constexpr std::uint32_t kWindow = kEach * Warp::lanes;
  std::uint32_t sequences = 0, bytes = 0;
  bool alone = false;
  lz::clear(warp, tile);
  while (!alone && sequences + Warp::lanes <= TileT::max_sequences) {
    // Where the next sequences begin: one for each lane.
    auto begin = warp.map([](std::uint32_t) { return 0u; });
    std::uint32_t count = 0, next = at;
    bool stuck = false;
    while (count < Warp::lanes && !stuck) {
      auto steps = warp.map([&](std::uint32_t lane) {
        std::uint32_t packed = 0;
        PENSTOCK_UNROLL
        for (std::uint32_t k = 0; k < kEach; ++k)
          packed |= Format::short_step(in, size, next + kEach * lane + k) << (8 * k);
        return packed;
      });
      std::uint32_t p = 0;
      while (p < kWindow && count < Warp::lanes) {
        const std::uint32_t step = warp.broadcast(steps, p / kEach) >> (p % kEach * 8) & 255;
        stuck = step == 0;
        if (stuck) break;
        warp.each_lane([&](std::uint32_t lane) {
          if (lane == count) Warp::at(begin, lane) = next + p;
        });
        ++count;
        p += step;
      }
      next += p;
    }
    // What they make, and the first that is wrong or does not fit.
    auto found = warp.map([&](std::uint32_t lane) {
      return lane < count ? Format::short_sequence(in, size, Warp::at(begin, lane)) : Sequence{};
    });
    auto ends = warp.inclusive_sum(warp.map([&](std::uint32_t lane) {
      const Sequence& s = Warp::at(found, lane);
      return (lane == 0 ? bytes : 0) + s.literals + s.length;
    }));
    const std::uint32_t right = warp.first(warp.map([&](std::uint32_t lane) {
      const Sequence& s = Warp::at(found, lane);
      const std::uint32_t end = Warp::at(ends, lane);
      return s.offset == 0 || s.offset > out + end - s.length || end + Format::kRoomBehind > capacity - out;
    }));
    const std::uint32_t fitting =
        warp.first(warp.map([&](std::uint32_t lane) { return Warp::at(ends, lane) > TileT::max_bytes; }));
    const std::uint32_t taken = right < fitting ? right : fitting;
    warp.each_lane([&](std::uint32_t lane) {
      if (lane >= taken) return;
      const Sequence& s = Warp::at(found, lane);
      const std::uint32_t match = Warp::at(ends, lane) - s.length;
      lz::put(tile, sequences + lane, match - s.literals, match, s.literal_at, s.offset);
    });
    if (taken > 0) bytes = warp.broadcast(ends, taken - 1);
    sequences += taken;
    at = taken < count ? warp.broadcast(begin, taken) : next;
    alone = taken == right && (taken < count || stuck);
    if (taken < count || stuck) break;
  }
  lz::finish(warp, tile, sequences, bytes);
  return alone || sequences == 0;
}

/// Decodes one block of `size` bytes into at most `capacity`.  Both at most kMaxBytes.  Every turn uses input up, so
/// there are at most `size` of them.  `c`: where it begins; matches may reach into the output in front of c.out.
template <class Format, class Team, class SharedT>
PENSTOCK_HD Cursor decode_block(const Team& team, const std::uint8_t* in, std::uint32_t size, std::uint8_t* out,
                                std::uint32_t capacity, SharedT& shared, Cursor c = {}) {
  in = assume_global(in);
  out = assume_global(out);
  for (;;) {
    team.leader([&](const auto& warp) {
      Cursor ahead = c;
      Sequence single{};
      bool ends = false;
      const bool alone = fill_tile<Format>(warp, in, size, ahead.in, c.out, capacity, shared.tile);
      ahead.out += shared.tile.bytes;
      if (alone) single = Format::read_sequence(warp, in, size, capacity, ahead, ends);
      warp.each_lane([&](std::uint32_t lane) {
        if (lane != 0) return;
        shared.in = ahead.in;
        shared.status = ahead.status;
        shared.has_single = alone;
        shared.is_end = ends;
        shared.single = single;
      });
    });
    // Taken into registers before the next barrier: after it the leading lanes may be writing again.
    const std::uint32_t bytes = shared.tile.bytes;
    const Sequence single = shared.single;
    const bool has_single = shared.has_single != 0, is_end = shared.is_end != 0;
    c.in = shared.in;
    c.status = shared.status;
    lz::execute(team, shared.tile, in, out + c.out);
    c.out += bytes;
    if (!has_single) continue;
    team_copy(team, out + c.out, in + single.literal_at, single.literals);
    c.out += single.literals;
    if (single.length != 0) team_repeat(team, out + c.out, single.offset, single.length);
    c.out += single.length;
    c.last_literals = single.literals;
    if (is_end || c.status != DecodeStatus::ok) return c;
  }
}

/// Decodes one chunk: exactly `task.out_bytes` bytes must come out.
template <class Format, class Team, class SharedT>
PENSTOCK_HD ChunkStatus decode_chunk(const Team& team, const Format& format, const DecodeTask& task, SharedT& shared) {
  ChunkStatus result;
  result.status = DecodeStatus::too_large;
  if (task.in_bytes > kMaxBytes || task.out_bytes > kMaxBytes) return result;
  const auto* in = reinterpret_cast<const std::uint8_t*>(task.in);
  auto* out = reinterpret_cast<std::uint8_t*>(task.out);
  const auto size = static_cast<std::uint32_t>(task.in_bytes);
  const auto wanted = static_cast<std::uint32_t>(task.out_bytes);
  result.status = DecodeStatus::ok;
  const std::uint32_t front = format.front(in, size, wanted, result.status);
  if (result.status != DecodeStatus::ok) return result;
  const Cursor c = decode_block<Format>(team, in + front, size - front, out, wanted, shared);
  result.status = c.status == DecodeStatus::ok && c.out < wanted ? DecodeStatus::short_output : c.status;
  result.position = front + c.in;
  result.output_bytes = c.out;
  return result;
}

}  // namespace penstock::lz
