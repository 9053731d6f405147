// Pass 3: the output.  One team a chunk, block by block, a tile of sequences at a time (tile.hpp).
#pragma once
#include "codec/zstd/decode/parse.hpp"
#include "codec/zstd/decode/tile.hpp"
#include "device/team.hpp"
#include "device/team_copy.hpp"

namespace penstock::zstd {

/// Bytes that exist, or one that repeats.
struct Literals {
  const std::uint8_t* data = nullptr;
  std::uint32_t mask = ~0u;  ///< for numbers of literals: 0 when there is one that repeats

  PENSTOCK_HD const std::uint8_t* at(std::uint32_t number) const { return data + (number & mask); }
};

/// What the tiles of a block are made of; uniform.
struct BlockWork {
  Literals literals;
  const std::uint64_t* records = nullptr;
  std::uint32_t sequences = 0;
  std::uint64_t behind = 0;               ///< stands for the record behind the last
  const std::uint32_t* repeat = nullptr;  ///< repeated offsets at its beginning
  std::uint8_t* output = nullptr;         ///< of the block
  std::uint32_t written = 0;              ///< bytes of the frame before it
  std::uint32_t chunk_written = 0;        ///< bytes of the chunk before it
  std::uint32_t end = 0, rest = 0;        ///< the literals that no sequence takes: where they go, how many

  PENSTOCK_HD std::uint64_t record(std::uint32_t k) const { return k < sequences ? records[k] : behind; }
};

/// A tile: sequences [first, first + n) of a block, `bytes` from `begin` of its output on.
struct Tile {
  std::uint32_t begin = 0, bytes = 0, n = 0;
  std::uint8_t* output = nullptr;
};

template <class Team>
PENSTOCK_HD void copy_literals(const Team& team, std::uint8_t* to, const Literals& literals, std::uint32_t number,
                               std::uint32_t n) {
  if (literals.mask == 0) {
    const std::uint8_t value = *literals.data;
    team.for_each(n, [&](std::uint32_t i) { *assume_global(to + i) = value; });
    return;
  }
  team_copy(team, assume_global(to), assume_global(literals.data) + number, n);
}

/// Bytes of a tile that tile_word may read with those before it.  They are cleared first, so that a checker of memory
/// that nobody wrote has nothing to say of them.
inline constexpr std::uint32_t kTakenAlong = 7;

/// As many of the `n` sequences in shared.record as fit into a tile, at least one.
template <class Shared>
PENSTOCK_HD Tile choose_tile(const BlockWork& work, const Shared& shared, std::uint32_t n) {
  const std::uint32_t begin = packed_output(shared.record[0]);
  if (output_between(begin, shared.record[n]) > Shared::kMaxBytes) {
    std::uint32_t fits = 1, too_many = n;  // the first may be too long by itself
    while (fits + 1 < too_many) {
      const std::uint32_t middle = (fits + too_many) / 2;
      if (output_between(begin, shared.record[middle]) <= Shared::kMaxBytes)
        fits = middle;
      else
        too_many = middle;
    }
    n = fits;
  }
  return {begin, output_between(begin, shared.record[n]), n, assume_global(work.output) + begin};
}

/// Enters sequence k in the tile: checks its offset, writes down where its bytes come from, and marks them in the map.
template <class Shared>
PENSTOCK_HD void enter_sequence(const BlockWork& work, const Tile& tile, Shared& shared, std::uint32_t k) {
  const std::uint64_t record = shared.record[k], next = shared.record[k + 1];
  const std::uint32_t begin = packed_output(record) - tile.begin, end = output_between(tile.begin, next);
  const std::uint32_t match = begin + packed_literals(next) - packed_literals(record);
  const std::uint32_t offset = known_offset(packed_offset(record), work.repeat);
  if (offset == 0 || offset > work.written + tile.begin + match) atomic_add(&shared.bad_offsets, 1);
  if (tile.bytes > Shared::kMaxBytes) return;
  shared.sequence[k] = {static_cast<std::uint16_t>(match), static_cast<std::uint16_t>(end),
                        packed_literals(record) - begin, offset, 0};
  const std::uint32_t first = (begin + kMapBytes - 1) / kMapBytes, behind = (end + kMapBytes - 1) / kMapBytes;
  for (std::uint32_t g = first; g < behind && g < first + kOwnGroups; ++g)
    shared.map[g] = static_cast<std::uint16_t>(k);
  if (behind > first + kOwnGroups) shared.wide[atomic_add(&shared.wides, 1)] = static_cast<std::uint16_t>(k);
}

/// The rest of the map, under long sequences, by all lanes.
template <class Team, class Shared>
PENSTOCK_HD void enter_wide_sequences(const Team& team, Shared& shared, std::uint32_t wides) {
  constexpr std::uint32_t kLanesEach = 64;
  team.for_each(wides * kLanesEach, [&](std::uint32_t i) {
    const std::uint32_t k = shared.wide[i / kLanesEach], begin = k == 0 ? 0 : shared.sequence[k - 1].end;
    const std::uint32_t behind = (shared.sequence[k].end + kMapBytes - 1) / kMapBytes;
    const std::uint32_t first = (begin + kMapBytes - 1) / kMapBytes + kOwnGroups;
    for (std::uint32_t g = first + i % kLanesEach; g < behind; g += kLanesEach)
      shared.map[g] = static_cast<std::uint16_t>(k);
  });
}

/// The byte at a position of the tile.
template <class Shared>
PENSTOCK_HD std::uint8_t tile_byte(const BlockWork& work, const Tile& tile, const Shared& shared, std::uint32_t at) {
  const std::int32_t from = shared.source(at);
  return *assume_global(from < 0 ? tile.output + from : work.literals.at(static_cast<std::uint32_t>(from)));
}

/// A tile of short sequences: every lane makes bytes, `Ahead` at a time.
template <int Ahead, class Team, class Shared>
PENSTOCK_HD void write_bytes(const Team& team, const BlockWork& work, const Tile& tile, const Shared& shared) {
  team.template for_each_batched<Ahead>(
      tile.bytes, [&](std::uint32_t at) { return tile_byte(work, tile, shared, at); },
      [&](std::uint32_t at, std::uint8_t byte) { *assume_global(tile.output + at) = byte; });
}

/// Four bytes of the tile, which come from one place.  Reads the aligned words around them: there are literals or
/// headers before and sections behind literals, and output around output.  That output may be the beginning of the tile
/// itself (kTakenAlong), which is just being written: those bytes are shifted out.
PENSTOCK_HD std::uint32_t tile_word(const BlockWork& work, const Tile& tile, ByteSource source) {
  const auto number = static_cast<std::uint32_t>(source.from);
  if (source.from >= 0 && work.literals.mask == 0) return *work.literals.data * 0x01010101u;
  const std::uint8_t* at = assume_global(source.from < 0 ? tile.output + source.from : work.literals.data + number);
  const std::uint32_t skew = misalignment(at, 4);
  const auto low = load_aligned<std::uint32_t>(at - skew);
  const std::uint32_t high = skew + source.length > 4 ? load_aligned<std::uint32_t>(at - skew + 4) : 0;
  return repeated_word(shift_right(low, high, 8 * skew), source.length, source.rotation % source.length);
}

/// A tile of long sequences: every lane makes aligned words; those whose bytes come from several places, and the two
/// at the ends, are made byte by byte afterwards.
template <class Team, class Shared>
PENSTOCK_HD void write_words(const Team& team, const BlockWork& work, const Tile& tile, Shared& shared) {
  const std::uint32_t skew = misalignment(tile.output, 4), words = (tile.bytes + skew + 3) / 4;
  const auto write_byte = [&](std::uint32_t at) {  // at - skew wraps below the tile
    if (at - skew < tile.bytes) *assume_global(tile.output + (at - skew)) = tile_byte(work, tile, shared, at - skew);
  };
  // A word before the chunk's first byte belongs to somebody else.
  const std::int64_t lowest = -static_cast<std::int64_t>(work.chunk_written + tile.begin) + 3;
  team.for_each(words, [&](std::uint32_t w) {
    const bool whole = 4 * w >= skew && 4 * w + 4 <= tile.bytes + skew;
    const ByteSource source = whole ? shared.source_of_word(4 * w - skew) : ByteSource{};
    if (source.from >= 0 || source.from >= lowest) {
      store_aligned(assume_global(tile.output + (4 * w - skew)), tile_word(work, tile, source));
      return;
    }
    const std::uint32_t slot = atomic_add(&shared.scattered_words, 1);
    if (slot < Shared::kMaxScattered)
      shared.scattered[slot] = static_cast<std::uint16_t>(w);
    else
      for (std::uint32_t k = 0; k < 4; ++k) write_byte(4 * w + k);
  });
  const std::uint32_t scattered = shared.scattered_words;
  team.for_each(4 * (scattered < Shared::kMaxScattered ? scattered : Shared::kMaxScattered),
                [&](std::uint32_t i) { write_byte(4 * std::uint32_t{shared.scattered[i / 4]} + i % 4); });
}

/// A sequence that is longer than a tile: its literals, then what the match repeats, twice as much each time.
template <class Team, class Shared>
PENSTOCK_HD void write_long_sequence(const Team& team, const BlockWork& work, const Tile& tile, const Shared& shared) {
  const std::uint64_t record = shared.record[0], next = shared.record[1];
  Literals from = work.literals;
  std::uint32_t number = packed_literals(record), n = packed_literals(next) - number, done = 0;
  const std::uint32_t match = n;
  for (;;) {
    copy_literals(team, tile.output + done, from, number, n);
    done += n;
    if (done == tile.bytes) return;
    if (done == match) from = {tile.output + match - known_offset(packed_offset(record), work.repeat), ~0u};
    number = 0;
    const auto there = static_cast<std::uint32_t>(tile.output + done - from.data);
    n = there < tile.bytes - done ? there : tile.bytes - done;
  }
}

/// Executes the sequences of a block.  The records of the next tile are loaded while one is written.
template <int Ahead, class Team, class Shared>
PENSTOCK_HD DecodeStatus execute_sequences(const Team& team, const BlockWork& work, Shared& shared) {
  constexpr std::uint32_t kMaxSequences = Team::lanes - 1, kWordsFrom = 16;  // bytes of a sequence, on average
  auto ahead = team.map([&](std::uint32_t lane) { return work.record(lane); });
  for (std::uint32_t done = 0; done < work.sequences;) {
    team.each_lane([&](std::uint32_t lane) {
      shared.record[lane] = Team::at(ahead, lane);
      if (lane == 0) shared.wides = shared.scattered_words = 0;
    });
    const std::uint32_t left = work.sequences - done;
    const Tile tile = choose_tile(work, shared, left < kMaxSequences ? left : kMaxSequences);
    done += tile.n;
    team.each_lane([&](std::uint32_t lane) {
      Team::at(ahead, lane) = work.record(done + lane);
      if (lane < tile.n) enter_sequence(work, tile, shared, lane);
      if (lane < kTakenAlong && lane < tile.bytes) *assume_global(tile.output + lane) = 0;
    });
    if (shared.bad_offsets != 0) return DecodeStatus::bad_offset;
    if (tile.bytes > Shared::kMaxBytes) {
      write_long_sequence(team, work, tile, shared);
      continue;
    }
    if (const std::uint32_t wides = shared.wides; wides != 0) enter_wide_sequences(team, shared, wides);
    if (tile.bytes < kWordsFrom * tile.n)
      write_bytes<Ahead>(team, work, tile, shared);
    else
      write_words(team, work, tile, shared);
  }
  return DecodeStatus::ok;
}

/// How far a chunk is; uniform.
struct Progress {
  std::uint32_t written = 0;  ///< bytes of the chunk
  std::uint32_t frame_begin = 0;
  std::uint32_t repeat[3] = {1, 4, 8};
  Fault fault;
};

/// Where a block's output comes from.  Raw and RLE blocks are literals without sequences.
PENSTOCK_HD BlockWork plan_block(const Workspace& ws, const BlockRecord& block, const Progress& progress,
                                 std::uint8_t* output) {
  BlockWork work;
  const bool compressed = block.type == BlockType::compressed;
  const bool one = compressed ? block.literal_type == LiteralType::rle : block.type == BlockType::rle;
  work.literals.data = block.has_huffman()
                           ? ws.at(block.literal_place)
                           : ws.input(block.chunk).data + (compressed ? block.literals_begin : block.begin);
  work.literals.mask = one ? 0 : ~0u;
  work.records = assume_global(reinterpret_cast<const std::uint64_t*>(ws.at(block.sequence_place)));
  work.sequences = block.sequences;
  work.rest = (compressed ? block.literals : block.output) - block.literals_taken;
  work.end = block.output - work.rest;
  work.behind = pack_sequence(work.end % kMaxBlockBytes, block.literals_taken, 0);
  work.repeat = progress.repeat;
  work.output = output;
  work.written = progress.written - progress.frame_begin;
  work.chunk_written = progress.written;
  return work;
}

/// One block; moves `progress` on.
template <int Ahead, class Team, class Shared>
PENSTOCK_HD Fault execute_block(const Team& team, const Workspace& ws, const BlockRecord& block, const DecodeTask& task,
                                Progress& progress, Shared& shared) {
  if ((block.flags & kFirstBlock) != 0) {
    progress.frame_begin = progress.written;
    progress.repeat[0] = 1;
    progress.repeat[1] = 4;
    progress.repeat[2] = 8;
  }
  if (block.literal_status != DecodeStatus::ok) return {block.literal_status, block.literals_begin};
  if (block.sequence_status != DecodeStatus::ok) return {block.sequence_status, block.sequences_begin};
  if (block.output > task.out_bytes - progress.written) return {DecodeStatus::output_too_small, block.begin};
  auto* output = assume_global(reinterpret_cast<std::uint8_t*>(task.out) + progress.written);
  const BlockWork work = plan_block(ws, block, progress, output);
  const DecodeStatus status = execute_sequences<Ahead>(team, work, shared);
  if (status != DecodeStatus::ok) return {status, block.sequences_begin};
  copy_literals(team, output + work.end, work.literals, block.literals_taken, work.rest);
  if (block.sequences != 0) {
    const std::uint32_t repeat[3] = {known_offset(block.repeat[0], progress.repeat),
                                     known_offset(block.repeat[1], progress.repeat),
                                     known_offset(block.repeat[2], progress.repeat)};
    for (int k = 0; k < 3; ++k) progress.repeat[k] = repeat[k];
  }
  progress.written += block.output;
  if ((block.flags & kLastBlock) != 0 && block.content_bytes != kNone &&
      block.content_bytes != progress.written - progress.frame_begin)
    return {DecodeStatus::bad_header, block.begin + block.bytes};
  return {};
}

/// All of a chunk that belongs to the slice, and what became of it.  Ahead: bytes that a lane has under way at a time.
template <int Ahead = 8, class Team, class Shared>
PENSTOCK_HD void execute_chunk(const Team& team, const Workspace& ws, std::uint32_t slice, std::uint32_t chunk,
                               Shared& shared) {
  ChunkState& state = ws.states[chunk];
  if (!ws.in_slice(state, slice)) return;
  const DecodeTask task = state.task;
  const std::uint32_t blocks = state.blocks;
  const BlockRecord* block = ws.blocks + (state.first_page - ws.slice_begin(slice));
  team.each_lane([&](std::uint32_t lane) {
    if (lane == 0) shared.bad_offsets = 0;
  });
  Progress progress;
  for (std::uint32_t i = 0; i < blocks && progress.fault.status == DecodeStatus::ok; ++i)
    progress.fault = execute_block<Ahead>(team, ws, block[i], task, progress, shared);
  if (progress.fault.status == DecodeStatus::ok) {
    progress.fault.position = static_cast<std::uint32_t>(task.in_bytes);
    if (progress.written < task.out_bytes) progress.fault.status = DecodeStatus::short_output;
  }
  team.each_lane([&](std::uint32_t lane) {
    if (lane != 0) return;
    state.fault = progress.fault;
    report(ws, chunk, progress.fault, progress.written);
  });
}

}  // namespace penstock::zstd
