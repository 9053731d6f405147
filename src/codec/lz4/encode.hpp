// LZ4 blocks made by warps, many for one chunk.
// Source: lz4_Block_format.md of the lz4 project.
//
// A chunk is cut into segments.  A warp finds the matches of a segment and writes its sequences, but for the literals
// behind its last match, which belong to the first sequence of a later segment.  So that one is written anew once it is
// known how many there are: `join` walks over the segments of a chunk and finds every place in the output, then a warp
// for each segment writes the segment's bytes there.
#pragma once
#include <cstdint>

#include "codec/device_encoder.hpp"
#include "codec/lz/find.hpp"
#include "codec/lz4/format.hpp"
#include "device/portable.hpp"
#include "device/team_copy.hpp"

namespace penstock::lz4 {

/// What is known of a segment between the passes.  Positions are in the chunk (in) and in its output (out).
struct ChunkSlice {
  std::uint32_t has_match;
  std::uint32_t match_at;    ///< where its first match begins
  std::uint32_t tail_at;     ///< where its last match ends; without a match, where it begins
  std::uint32_t token;       ///< low half of its first token: the length of the first match
  std::uint32_t rest_at;     ///< in its scratch: what follows the literals of the first sequence
  std::uint32_t bytes;       ///< in its scratch
  std::uint32_t literal_at;  ///< first literal of its first sequence, in a segment before or in this one
  std::uint32_t out_at;      ///< its first sequence
  std::uint32_t tail_out;    ///< the literals from tail_at on
};

/// How the scratch of a batch is cut.  ChunkSlice s of chunk c is number c * each + s.
struct EncodeLayout {
  std::uint32_t each = 0;          ///< segments of the largest chunk
  std::uint32_t room = 0;          ///< scratch of a segment, a multiple of 16
  ChunkSlice* segments = nullptr;  ///< records, then their bytes
  std::uint8_t* bytes = nullptr;

  static constexpr std::uint64_t record_bytes(std::uint64_t segments) {
    return (segments * sizeof(ChunkSlice) + 15) / 16 * 16;
  }
  static EncodeLayout make(std::uint32_t count, std::uint64_t largest_bytes, std::byte* scratch) {
    const std::uint64_t most = largest_bytes < lz::kSegmentBytes ? largest_bytes : lz::kSegmentBytes;
    EncodeLayout layout;
    layout.each = static_cast<std::uint32_t>((largest_bytes + lz::kSegmentBytes - 1) / lz::kSegmentBytes);
    layout.room = static_cast<std::uint32_t>((bound(most) + 15) / 16 * 16);
    if (scratch == nullptr) return layout;  // only its size is asked for
    layout.segments = reinterpret_cast<ChunkSlice*>(scratch);
    layout.bytes = reinterpret_cast<std::uint8_t*>(scratch) + record_bytes(std::uint64_t{count} * layout.each);
    return layout;
  }
  [[nodiscard]] std::uint64_t scratch_bytes(std::uint32_t count) const {
    const std::uint64_t all = std::uint64_t{count} * each;
    return record_bytes(all) + all * room;
  }
};

/// The token and the lengths' bytes of a sequence around its literals.
PENSTOCK_HD std::uint32_t length_bytes(std::uint32_t code) { return code < 15 ? 0 : 1 + (code - 15) / 255; }
/// Writes what of `code` does not fit into the token; where it ends.
PENSTOCK_HD std::uint32_t put_length(std::uint8_t* out, std::uint32_t at, std::uint32_t code) {
  if (code < 15) return at;
  std::uint32_t rest = code - 15;
  for (; rest >= 255; rest -= 255) out[at++] = 255;
  out[at++] = static_cast<std::uint8_t>(rest);
  return at;
}
PENSTOCK_HD std::uint32_t half_token(std::uint32_t code) { return code < 15 ? code : 15; }

/// Writes the sequences of a segment into its scratch.
template <class Warp>
struct SequenceWriter {
  const Warp& warp;
  const std::uint8_t* in;
  std::uint8_t* out;
  std::uint32_t room;
  ChunkSlice& segment;  ///< uniform copies of the warp
  bool fits;

  /// `count` sequences, one in each lane.
  template <class Var>
  PENSTOCK_HD void operator()(Var& found, std::uint32_t count) {
    constexpr std::uint32_t kAlone = 32;  // literals that a lane copies by itself
    const auto bytes_of = [](const lz::Found& f) {
      return 1 + length_bytes(f.literals) + f.literals + 2 + length_bytes(f.length - lz::kMinMatch);
    };
    auto ends = warp.inclusive_sum(
        warp.map([&](std::uint32_t lane) { return lane < count ? bytes_of(Warp::at(found, lane)) : 0; }));
    const std::uint32_t all = warp.broadcast(ends, Warp::lanes - 1);
    if (!fits || all > room - segment.bytes) {
      fits = false;
      return;
    }
    if (segment.has_match == 0) note_first(lz::found_of(warp, found, 0));
    warp.each_lane([&](std::uint32_t lane) {
      if (lane >= count) return;
      const lz::Found& f = Warp::at(found, lane);
      std::uint32_t at = segment.bytes + Warp::at(ends, lane) - bytes_of(f);
      const std::uint32_t code = f.length - lz::kMinMatch;
      out[at++] = static_cast<std::uint8_t>(half_token(f.literals) << 4 | half_token(code));
      at = put_length(out, at, f.literals);
      if (f.literals <= kAlone)
        for (std::uint32_t i = 0; i < f.literals; ++i) out[at + i] = in[f.literal_at + i];
      at += f.literals;
      out[at++] = static_cast<std::uint8_t>(f.offset);
      out[at++] = static_cast<std::uint8_t>(f.offset >> 8);
      put_length(out, at, code);
    });
    copy_long_literals(found, ends, count, kAlone);
    segment.bytes += all;
  }

 private:
  PENSTOCK_HD void note_first(const lz::Found& first) {
    segment.has_match = 1;
    segment.match_at = first.literal_at + first.literals;
    segment.token = half_token(first.length - lz::kMinMatch);
    segment.rest_at = 1 + length_bytes(first.literals) + first.literals;
  }
  template <class Var, class Ends>
  PENSTOCK_HD void copy_long_literals(Var& found, Ends& ends, std::uint32_t count, std::uint32_t alone) {
    std::uint32_t from = 0;
    while (from < count) {
      const std::uint32_t next = warp.first(warp.map(
          [&](std::uint32_t lane) { return lane >= from && lane < count && Warp::at(found, lane).literals > alone; }));
      if (next == Warp::lanes) return;
      const lz::Found f = lz::found_of(warp, found, next);
      const std::uint32_t end = segment.bytes + warp.broadcast(ends, next);
      const std::uint32_t behind = 2 + length_bytes(f.length - lz::kMinMatch);
      team_copy(warp, out + (end - behind - f.literals), in + f.literal_at, f.literals);
      from = next + 1;
    }
  }
};

/// Pass 1: segment `s` of a chunk of `n` bytes at `in`.  `out` has `room`.
template <class Warp>
PENSTOCK_HD void find_segment(const Warp& warp, const std::uint8_t* in, std::uint32_t n, std::uint32_t s,
                              std::uint8_t* out, std::uint32_t room, ChunkSlice* record, lz::FinderShared& shared) {
  const std::uint32_t begin = s * lz::kSegmentBytes, left = n - begin;
  const std::uint32_t end = left < lz::kSegmentBytes ? n : begin + lz::kSegmentBytes;
  ChunkSlice segment{};
  segment.tail_at = begin;
  bool fits = true;
  // A match begins 12 bytes before the end of the block or earlier, and leaves its last 5 bytes alone.
  const std::uint32_t last_end = n < kLastLiterals ? 0 : n - kLastLiterals < end ? n - kLastLiterals : end;
  if (n > kLastMatchStart && last_end >= begin + lz::kMinMatch) {
    const std::uint32_t by_end = last_end - lz::kMinMatch, by_start = n - kLastMatchStart - 1;
    const lz::Bounds bounds{begin, by_end < by_start ? by_end : by_start, last_end, lz::kMinMatch};
    if (bounds.last_start >= begin) {
      SequenceWriter<Warp> writer{warp, in, out, room, segment, true};
      segment.tail_at =
          lz::find_matches(warp, in, bounds, shared, [&](auto& found, std::uint32_t count) { writer(found, count); });
      fits = writer.fits;
    }
  }
  if (!fits) segment.bytes = ~0u;
  warp.each_lane([&](std::uint32_t lane) {
    if (lane == 0) *record = segment;
  });
}

/// Pass 2: places of all segments of a chunk in its output, whose size it returns; writes the last token, which has no
/// match.  By one lane.
PENSTOCK_HD std::uint64_t join_segments(ChunkSlice* segments, std::uint32_t count, std::uint32_t n, std::uint8_t* out,
                                        std::uint32_t header, std::uint64_t room) {
  std::uint64_t at = header;
  std::uint32_t literal_at = 0, open = 0;  // the first literal that is not yet written, the first segment with one
  const auto close = [&](std::uint32_t end, std::uint64_t literals_out) {
    for (; open < end; ++open)
      segments[open].tail_out = static_cast<std::uint32_t>(literals_out + (segments[open].tail_at - literal_at));
  };
  for (std::uint32_t s = 0; s < count; ++s) {
    ChunkSlice& segment = segments[s];
    if (segment.bytes == ~0u) return kNotEncoded;
    if (segment.has_match == 0) continue;
    const std::uint32_t literals = segment.match_at - literal_at;
    segment.literal_at = literal_at;
    segment.out_at = static_cast<std::uint32_t>(at);
    const std::uint64_t literals_out = at + 1 + length_bytes(literals);
    close(s, literals_out);
    at = literals_out + literals + (segment.bytes - segment.rest_at);
    literal_at = segment.tail_at;
    open = s;
  }
  const std::uint32_t literals = n - literal_at;
  const std::uint64_t literals_out = at + 1 + length_bytes(literals), end = literals_out + literals;
  if (end > room) return kNotEncoded;
  close(count, literals_out);
  out[at] = static_cast<std::uint8_t>(half_token(literals) << 4);
  put_length(out, static_cast<std::uint32_t>(at + 1), literals);
  return end;
}

/// Pass 3: the bytes of segment `s` in the output of its chunk of `n` bytes.
template <class Warp>
PENSTOCK_HD void write_segment(const Warp& warp, const std::uint8_t* in, std::uint32_t n, const ChunkSlice& segment,
                               std::uint32_t s, const std::uint8_t* made, std::uint8_t* out) {
  const std::uint32_t begin = s * lz::kSegmentBytes, left = n - begin;
  const std::uint32_t end = left < lz::kSegmentBytes ? n : begin + lz::kSegmentBytes;
  if (segment.has_match != 0) {
    const std::uint32_t literals = segment.match_at - segment.literal_at;
    const std::uint32_t literals_out = segment.out_at + 1 + length_bytes(literals);
    warp.each_lane([&](std::uint32_t lane) {
      if (lane != 0) return;
      out[segment.out_at] = static_cast<std::uint8_t>(half_token(literals) << 4 | segment.token);
      put_length(out, segment.out_at + 1, literals);
    });
    team_copy(warp, out + literals_out + (begin - segment.literal_at), in + begin, segment.match_at - begin);
    team_copy(warp, out + literals_out + literals, made + segment.rest_at, segment.bytes - segment.rest_at);
  }
  team_copy(warp, out + segment.tail_out, in + segment.tail_at, end - segment.tail_at);
}

// The passes over a batch.  `number`: of a segment of it.

/// How many segments a chunk has; none when it cannot be encoded.
PENSTOCK_HD std::uint32_t segments_of(std::uint64_t bytes, const EncodeLayout& layout) {
  const std::uint64_t segments = (bytes + lz::kSegmentBytes - 1) / lz::kSegmentBytes;
  return bytes > kMaxInput || segments > layout.each ? 0 : static_cast<std::uint32_t>(segments);
}

template <class Warp>
PENSTOCK_HD void find_pass(const Warp& warp, const EncodeBatch& batch, const EncodeLayout& layout, std::uint64_t number,
                           lz::FinderShared& shared) {
  const std::uint64_t chunk = number / layout.each;
  const auto s = static_cast<std::uint32_t>(number % layout.each);
  if (s >= segments_of(batch.in_bytes[chunk], layout)) return;
  const auto* in = assume_global(reinterpret_cast<const std::uint8_t*>(batch.tasks[chunk].in));
  find_segment(warp, in, static_cast<std::uint32_t>(batch.in_bytes[chunk]), s,
               assume_global(layout.bytes + number * layout.room), layout.room, layout.segments + number, shared);
}

/// One lane for each chunk.
PENSTOCK_HD void join_pass(const EncodeBatch& batch, const EncodeLayout& layout, Framing framing, std::uint32_t chunk) {
  const std::uint64_t n = batch.in_bytes[chunk];
  const EncodeTask task = batch.tasks[chunk];
  const std::uint32_t header = header_bytes(framing), segments = segments_of(n, layout);
  batch.out_bytes[chunk] = kNotEncoded;
  if (n > kMaxInput || (segments == 0 && n > 0) || task.room < header) return;
  auto* out = reinterpret_cast<std::uint8_t*>(task.out);
  for (std::uint32_t k = 0; k < header; ++k) out[k] = static_cast<std::uint8_t>(n >> (8 * k));
  batch.out_bytes[chunk] = join_segments(layout.segments + std::uint64_t{chunk} * layout.each, segments,
                                         static_cast<std::uint32_t>(n), out, header, task.room);
}

template <class Warp>
PENSTOCK_HD void write_pass(const Warp& warp, const EncodeBatch& batch, const EncodeLayout& layout,
                            std::uint64_t number) {
  const std::uint64_t chunk = number / layout.each;
  const auto s = static_cast<std::uint32_t>(number % layout.each);
  if (batch.out_bytes[chunk] == kNotEncoded || s >= segments_of(batch.in_bytes[chunk], layout)) return;
  write_segment(warp, assume_global(reinterpret_cast<const std::uint8_t*>(batch.tasks[chunk].in)),
                static_cast<std::uint32_t>(batch.in_bytes[chunk]), layout.segments[number], s,
                assume_global(layout.bytes + number * layout.room),
                assume_global(reinterpret_cast<std::uint8_t*>(batch.tasks[chunk].out)));
}

/// All passes on the calling thread, by a team of 32 lanes.
template <class Warp>
void encode_on_host(const Warp& warp, const EncodeBatch& batch, Framing framing, std::byte* scratch) {
  const EncodeLayout layout = EncodeLayout::make(batch.count, batch.largest_bytes, scratch);
  const std::uint64_t segments = std::uint64_t{batch.count} * layout.each;
  lz::FinderShared shared;
  for (std::uint64_t i = 0; i < segments; ++i) find_pass(warp, batch, layout, i, shared);
  for (std::uint32_t i = 0; i < batch.count; ++i) join_pass(batch, layout, framing, i);
  for (std::uint64_t i = 0; i < segments; ++i) write_pass(warp, batch, layout, i);
}

}  // namespace penstock::lz4
