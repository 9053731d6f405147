// Pass 2b: sequences (RFC 8878, 3.1.1.3.2).  A warp takes S blocks at a time from the slice's list.  Four lanes a block
// make its tables and find its bit stream; then one lane a block runs along the chain of states, which nothing can cut,
// and writes one record a sequence.
#pragma once
#include "codec/zstd/decode/codes.hpp"
#include "codec/zstd/decode/fse.hpp"
#include "codec/zstd/decode/sequence_record.hpp"
#include "codec/zstd/decode/sequence_ring.hpp"
#include "device/team.hpp"

namespace penstock::zstd {

inline constexpr std::uint32_t kSetupLanes = 4;  ///< of a block: one for each table and one for the stream

/// Shared memory of a warp.
template <std::uint32_t S>
struct SequenceShared {
  struct Block {
    union {
      SequenceRing ring;
      std::int16_t counts[36 + 32 + 53];  // of the three codes, while tables are made
    };
    std::uint32_t table[kTableWords];
    std::uint32_t log[kCodes];
    DecodeStatus status[kSetupLanes];
    SequenceStream stream;
    std::uint32_t padding[12];  ///< shifts each block by 4 banks of shared memory
  };
  static_assert(sizeof(Block) / 4 % 32 == 4);
  Block block[S];
  std::uint32_t literal_base[53], match_base[53];  // a symbol's least value
};

/// Reads over the description of a code's table at `at` and, when `table` is given, makes it; moves `at` on.  In a
/// block that describes it, so the mode is never "repeated".
PENSTOCK_HD bool read_code_table(ByteRange in, std::uint32_t& at, std::uint32_t end, int code, TableMode mode,
                                 std::uint32_t* table, std::int16_t* counts, std::uint32_t& log) {
  log = 0;
  if (mode == TableMode::one_symbol) {
    const std::uint32_t symbol = in.byte(at);
    if (at >= end || symbol >= code_symbols(code)) return false;
    ++at;
    if (table != nullptr) table[0] = fse_entry(extra_bits(code, symbol), 0, symbol, 0);
    return true;
  }
  Distribution d{code_symbols(code), code_max_log(code), default_log(code), default_symbols(code)};
  if (mode == TableMode::described) {
    const std::uint32_t used = at < end ? read_distribution(in, at, end, d, counts) : 0;
    if (used == 0) return false;
    at += used;
  } else if (mode == TableMode::predefined && counts != nullptr) {
    for (std::uint32_t s = 0; s < d.symbols; ++s) counts[s] = static_cast<std::int16_t>(default_count(code, s));
  }
  log = d.log;
  if (table != nullptr)
    build_fse_table(table, counts, d.symbols, d.log, [code](std::uint32_t s) { return extra_bits(code, s); });
  return true;
}

/// Roles 0 to 2: makes the table of that code.  Role 3: finds where the block's bit stream begins.
template <class Shared>
PENSTOCK_HD_CALLED DecodeStatus set_up(const Workspace& ws, const BlockRecord& block, int role, Shared& shared) {
  const ByteRange in = ws.input(block.chunk);
  const BlockRecord& owner = role < kCodes ? ws.blocks[block.table_block[role]] : block;
  const std::uint32_t end = owner.begin + owner.bytes, modes = in.byte(owner.sequences_begin);
  std::uint32_t at = owner.sequences_begin + 1;
  std::int16_t* counts = shared.counts + (role == kLiteralLength ? 0 : role == kOffset ? 36 : 68);
  for (int code = 0; code < kCodes; ++code) {
    const TableMode mode = table_mode(modes, code);
    if (mode == TableMode::repeated) continue;  // nothing to read; made from the block that described it
    const bool mine = code == role;
    std::uint32_t log = 0;
    if (!read_code_table(in, at, end, code, mode, mine ? shared.table + table_begin(code) : nullptr,
                         mine ? counts : nullptr, log))
      return DecodeStatus::bad_table;
    if (!mine) continue;
    shared.log[code] = log;
    return DecodeStatus::ok;
  }
  return shared.stream.open(in, at, end - at) ? DecodeStatus::ok : DecodeStatus::bad_stream;
}

/// What a lane keeps of its chain.
struct SequenceLane {
  std::int32_t position;                                   ///< of the next bit, minus 96
  std::uint32_t literal_state, offset_state, match_state;  ///< times 4
  std::uint32_t repeat0, repeat1, repeat2;
  std::uint32_t output, literals;
  std::uint32_t max_output;  ///< seen after a group
  std::uint32_t farthest;    ///< largest offset value
  std::uint32_t state_bits;  ///< taken after the last sequence, which has no next
  std::uint32_t left;
  std::uint64_t* to;
};

/// The next `n` bits, n >= 1 modulo 32, at the top of a word; 0 for n = 0.
PENSTOCK_HD std::uint32_t top_bits(std::uint32_t word, std::uint32_t n) { return shift_left(word, 0, n); }

/// One sequence.  Shift counts wrap at 32, so table entries serve as counts.
template <class Block>
PENSTOCK_HD void next_sequence(SequenceLane& lane, const Block& block, const std::uint32_t* literal_base,
                               const std::uint32_t* match_base) {
  const auto el = at_byte<std::uint32_t>(block.table, lane.literal_state);
  const auto eo = at_byte<std::uint32_t>(block.table + kOffsetTable, lane.offset_state);
  const auto em = at_byte<std::uint32_t>(block.table + kMatchTable, lane.match_state);
  // The next 96 bits: high, middle, low.
  const std::uint32_t* ring = block.ring.word;
  const std::uint32_t at = static_cast<std::uint32_t>(lane.position >> 3) & (4 * kRingWords - 4);
  const auto shift = static_cast<std::uint32_t>(lane.position);
  const auto w3 = at_byte<std::uint32_t>(ring, at), w2 = at_byte<std::uint32_t>(ring + 1, at);
  const auto w1 = at_byte<std::uint32_t>(ring + 2, at), w0 = at_byte<std::uint32_t>(ring + 3, at);
  const std::uint32_t high = shift_right(w1, w0, shift), middle = shift_right(w2, w1, shift);
  const std::uint32_t low = shift_right(w3, w2, shift);
  // In this order: offset, match length, literal length, states of literal length, match length, offset.
  const std::uint32_t high2 = shift_left(middle, high, eo), middle2 = shift_left(low, middle, eo);
  const std::uint32_t high3 = shift_left(middle2, high2, em), middle3 = shift_left(0, middle2, em);
  const std::uint32_t states = shift_left(middle3, high3, el);
  const std::uint32_t bits_l = el >> 8, bits_m = em >> 8, bits_o = eo >> 8, sum = el + eo + em;
  lane.state_bits = sum >> 8 & 31;
  lane.position -= static_cast<std::int32_t>((sum & 255) + lane.state_bits);
  lane.literal_state = (el >> 21) + (top_bits(states, bits_l) << 2);
  const std::uint32_t states2 = shift_left(0, states, bits_l);
  lane.match_state = (em >> 21) + (top_bits(states2, bits_m) << 2);
  lane.offset_state = (eo >> 21) + (top_bits(shift_left(0, states2, bits_m), bits_o) << 2);

  const std::uint32_t offset_value = shift_left(high, 1, eo);  // (1 << bits) + bits
  const std::uint32_t match = at_byte<std::uint32_t>(match_base, em >> 11 & 0x3FC) + top_bits(high2, em);
  const std::uint32_t literals = at_byte<std::uint32_t>(literal_base, el >> 11 & 0x3FC) + top_bits(high3, el);
  lane.farthest = offset_value > lane.farthest ? offset_value : lane.farthest;
  // 3.1.1.5: values 1 to 3 are repeated offsets, one further on when there are no literals.
  const std::uint32_t which = offset_value > 3 ? 3 : offset_value - 1 + (literals == 0 ? 1 : 0);
  const std::uint32_t repeated =
      which >= 2 ? (which > 2 ? lane.repeat0 - 1 : lane.repeat2) : (which != 0 ? lane.repeat1 : lane.repeat0);
  const std::uint32_t offset = offset_value > 3 ? offset_value - 3 : repeated;
  lane.repeat2 = which >= 2 ? lane.repeat1 : lane.repeat2;
  lane.repeat1 = which != 0 ? lane.repeat0 : lane.repeat1;
  lane.repeat0 = offset;
  *assume_global(lane.to++) = pack_sequence(lane.output, lane.literals, offset);
  lane.literals += literals;
  lane.output += literals + match;
}

/// Up to kGroup sequences.
template <class Block>
PENSTOCK_HD void next_group(SequenceLane& lane, const Block& block, const std::uint32_t* literal_base,
                            const std::uint32_t* match_base) {
  std::uint32_t n = lane.left < kGroup ? lane.left : kGroup;
  lane.left -= n;
  PENSTOCK_NO_UNROLL
  for (; n >= 2; n -= 2) {
    next_sequence(lane, block, literal_base, match_base);
    next_sequence(lane, block, literal_base, match_base);
  }
  if (n != 0) next_sequence(lane, block, literal_base, match_base);
  // A group adds less than 2^22, so no overflow hides.
  lane.max_output = lane.max_output > lane.output ? lane.max_output : lane.output;
}

/// Takes the first three states.
template <class Block>
PENSTOCK_HD SequenceLane begin_chain(const Workspace& ws, const BlockRecord& record, const Block& block) {
  SequenceLane lane{};
  lane.position = block.stream.end - 96;
  lane.left = record.sequences;
  lane.repeat0 = repeat_symbol(0);
  lane.repeat1 = repeat_symbol(1);
  lane.repeat2 = repeat_symbol(2);
  lane.to = reinterpret_cast<std::uint64_t*>(ws.at(record.sequence_place));
  const std::uint32_t at = static_cast<std::uint32_t>(lane.position >> 3) & (4 * kRingWords - 4);
  std::uint32_t bits =
      shift_right(at_byte<std::uint32_t>(block.ring.word + 2, at), at_byte<std::uint32_t>(block.ring.word + 3, at),
                  static_cast<std::uint32_t>(lane.position));
  const auto take = [&](std::uint32_t log) {
    const std::uint32_t state = top_bits(bits, log) << 2;
    bits <<= log;
    lane.position -= static_cast<std::int32_t>(log);
    return state;
  };
  lane.literal_state = take(block.log[kLiteralLength]);
  lane.offset_state = take(block.log[kOffset]);
  lane.match_state = take(block.log[kMatchLength]);
  return lane;
}

/// The whole chain of a block, by one lane.
template <class Shared, class Block>
PENSTOCK_HD DecodeStatus run_chain(const Workspace& ws, BlockRecord& record, const Shared& shared, Block& block) {
  for (const DecodeStatus status : block.status)
    if (status != DecodeStatus::ok) return status;
  const SequenceStream stream = block.stream;
  std::int32_t low = stream.fill(block.ring);
  SequenceLane lane = begin_chain(ws, record, block);
  while (lane.left != 0) {
    const std::int32_t lacking = kWantedWords - ((lane.position >> 5) + 4 - 4 * low);
    Bytes16 coming[kGroupBlocks];
    PENSTOCK_UNROLL
    for (int i = 0; i < kGroupBlocks; ++i) {
      if (4 * i >= lacking) break;
      coming[i] = stream.load(low - 1 - i);
    }
    next_group(lane, block, shared.literal_base, shared.match_base);
    PENSTOCK_UNROLL
    for (int i = 0; i < kGroupBlocks; ++i) {
      if (4 * i >= lacking) break;
      block.ring.put(low - 1 - i, low - 1 - i == 0 ? block.ring.first : coming[i]);
    }
    const std::int32_t blocks = (lacking + 3) >> 2;
    low -= blocks < 0 ? 0 : blocks > kGroupBlocks ? kGroupBlocks : blocks;
  }
  record.literals_taken = lane.literals;
  record.output = lane.output + record.literals - lane.literals;
  record.repeat[0] = lane.repeat0;
  record.repeat[1] = lane.repeat1;
  record.repeat[2] = lane.repeat2;
  if (lane.position + 96 + static_cast<std::int32_t>(lane.state_bits) != stream.begin) return DecodeStatus::bad_stream;
  if (lane.farthest >= kLowestSymbol) return DecodeStatus::bad_offset;
  if (lane.max_output > record.max_bytes || lane.literals > record.literals || record.output > record.max_bytes)
    return DecodeStatus::bad_block;
  return DecodeStatus::ok;
}

/// All sequences of a slice, together with the other warps that run this.
template <std::uint32_t S, class Team>
PENSTOCK_HD void decode_sequences(const Team& team, const Workspace& ws, std::uint32_t slice,
                                  SequenceShared<S>& shared) {
  static_assert(Team::lanes >= S * kSetupLanes);
  team.for_each(53, [&](std::uint32_t symbol) {
    shared.literal_base[symbol] = symbol < 36 ? literal_base(symbol) : 0;
    shared.match_base[symbol] = match_base(symbol);
  });
  SliceCounters& counters = ws.counters[slice];
  const std::uint32_t total = counters.sequence_blocks;
  for (;;) {
    const std::uint32_t first = team_take(team, &counters.sequence_blocks_taken, S);
    if (first >= total) return;
    const std::uint32_t n = total - first < S ? total - first : S;
    team.each_lane([&](std::uint32_t lane) {
      const std::uint32_t k = lane / kSetupLanes, role = lane % kSetupLanes;
      if (k >= n) return;
      auto& block = shared.block[k];
      block.status[role] = set_up(ws, ws.blocks[ws.sequence_list[first + k]], static_cast<int>(role), block);
    });
    team.each_lane([&](std::uint32_t k) {
      if (k >= n) return;
      BlockRecord& record = ws.blocks[ws.sequence_list[first + k]];
      record.sequence_status = run_chain(ws, record, shared, shared.block[k]);
    });
  }
}

}  // namespace penstock::zstd
