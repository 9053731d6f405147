// The Blosc 1 container on a device: a chunk is cut into blocks, a block perhaps into one stream for each byte of an
// element, and each stream is compressed by itself, so that all streams of all chunks can be decoded side by side.
//   open_stream    finds a stream, copies it when it is stored raw, else makes a task for the inner decoder
//   (inner)        decodes the tasks of a batch
//   finish_chunk   joins the statuses and undoes the shuffle, block by block
// Source: README_CHUNK_FORMAT.rst of c-blosc; what is refused is what c-blosc 1.21 refuses.
#pragma once
#include <cstdint>

#include "codec/status.hpp"
#include "device/portable.hpp"
#include "device/team_copy.hpp"

namespace penstock::blosc {

/// The inner compressors, as the header numbers them.
enum class Inner : std::uint32_t { blosclz, lz4, snappy, zlib, zstd };

inline constexpr std::uint32_t kHeaderBytes = 16;
inline constexpr std::uint64_t kMaxBytes = 0x7FFFFFFF - kHeaderBytes;

PENSTOCK_HD std::uint32_t little32(const std::uint8_t* at) {
  return at[0] | static_cast<std::uint32_t>(at[1]) << 8 | static_cast<std::uint32_t>(at[2]) << 16 |
         static_cast<std::uint32_t>(at[3]) << 24;
}

/// What the header of a chunk says.
struct Chunk {
  DecodeStatus status = DecodeStatus::ok;
  std::uint32_t position = 0;  ///< of what is wrong
  std::uint32_t bytes = 0;     ///< decoded
  std::uint32_t block_bytes = 1;
  std::uint32_t item_bytes = 1;
  std::uint32_t blocks = 0;
  std::uint32_t splits = 1;  ///< streams of a whole block; the last one is not split when it is shorter
  std::uint32_t streams = 0;
  bool stored = false;  ///< the bytes follow the header
  bool byte_shuffle = false, bit_shuffle = false;

  [[nodiscard]] PENSTOCK_HD bool shuffled() const { return byte_shuffle || bit_shuffle; }
  [[nodiscard]] PENSTOCK_HD std::uint32_t size_of_block(std::uint32_t block) const {
    const std::uint32_t begin = block * block_bytes;
    return bytes - begin < block_bytes ? bytes - begin : block_bytes;
  }
};

PENSTOCK_HD Chunk read_header(const DecodeTask& task, Inner inner) {
  Chunk c;
  const auto fail = [&](DecodeStatus status, std::uint32_t position) {
    c.status = status;
    c.position = position;
    return c;
  };
  const auto* const in = reinterpret_cast<const std::uint8_t*>(task.in);
  if (task.in_bytes > 0x7FFFFFFF || task.out_bytes > kMaxBytes) return fail(DecodeStatus::too_large, 0);
  if (task.in_bytes < kHeaderBytes)
    return fail(DecodeStatus::truncated_input, static_cast<std::uint32_t>(task.in_bytes));
  const auto in_bytes = static_cast<std::uint32_t>(task.in_bytes);
  const std::uint32_t flags = in[2];
  c.item_bytes = in[3];
  c.bytes = little32(in + 4);
  c.block_bytes = little32(in + 8);
  if (in[0] != 2) return fail(DecodeStatus::bad_magic, 0);
  if (little32(in + 12) != in_bytes)
    return fail(little32(in + 12) > in_bytes ? DecodeStatus::truncated_input : DecodeStatus::bad_end, 12);
  if (flags >> 5 > 4) return fail(DecodeStatus::bad_magic, 2);
  if (c.bytes != task.out_bytes) return fail(DecodeStatus::bad_header, 4);
  if (c.bytes == 0) return c.block_bytes == 0 ? fail(DecodeStatus::bad_header, 8) : c;
  if ((flags & 8) != 0) return fail(DecodeStatus::bad_magic, 2);
  if (c.block_bytes == 0 || c.block_bytes > c.bytes || c.block_bytes > (0x7FFFFFFF - 255 * 4) / 3)
    return fail(DecodeStatus::bad_header, 8);
  if (c.item_bytes == 0) return fail(DecodeStatus::bad_header, 3);
  c.stored = (flags & 2) != 0;
  if (c.stored) return in_bytes - kHeaderBytes == c.bytes ? (c.streams = 1, c) : fail(DecodeStatus::bad_header, 12);
  if (in[1] != 1) return fail(DecodeStatus::bad_magic, 1);
  if (flags >> 5 != static_cast<std::uint32_t>(inner)) return fail(DecodeStatus::unsupported_feature, 2);
  c.byte_shuffle = (flags & 1) != 0 && c.item_bytes > 1;
  c.bit_shuffle = !c.byte_shuffle && (flags & 4) != 0;
  c.blocks = (c.bytes - 1) / c.block_bytes + 1;
  if (c.blocks > (in_bytes - kHeaderBytes) / 4) return fail(DecodeStatus::truncated_input, in_bytes);
  const bool split = (flags & 16) == 0 && c.item_bytes <= 16 && c.block_bytes / c.item_bytes >= 128;
  // c-blosc leaves the rest of such a block undone and says so.
  if (split && c.block_bytes % c.item_bytes != 0) return fail(DecodeStatus::bad_header, 8);
  c.splits = split ? c.item_bytes : 1;
  const bool short_end = c.bytes % c.block_bytes != 0;
  c.streams = (c.blocks - (short_end ? 1 : 0)) * c.splits + (short_end ? 1 : 0);
  return c;
}

/// What opening a stream found; not_run: the inner decoder's result counts.
struct Opened {
  ChunkStatus status;
  DecodeTask task;
};

/// Opens stream `index` of a chunk.  `to`: where the chunk's streams are decoded to, one after the other.
template <class Warp>
PENSTOCK_HD Opened open_stream(const Warp& warp, const DecodeTask& task, const Chunk& c, std::uint32_t index,
                               std::uint8_t* to) {
  Opened opened;
  const auto done = [&](DecodeStatus status, std::uint32_t position) {
    opened.status.status = status;
    opened.status.position = position;
    return opened;
  };
  const auto* const in = assume_global(reinterpret_cast<const std::uint8_t*>(task.in));
  const auto in_bytes = static_cast<std::uint32_t>(task.in_bytes);
  if (c.status != DecodeStatus::ok) return done(index == 0 ? c.status : DecodeStatus::ok, c.position);
  if (index >= c.streams) return done(DecodeStatus::ok, 0);
  if (c.stored) {
    team_copy(warp, assume_global(reinterpret_cast<std::uint8_t*>(task.out)), in + kHeaderBytes, c.bytes);
    return done(DecodeStatus::ok, in_bytes);
  }
  const std::uint32_t block = index / c.splits;
  const std::uint32_t block_bytes = c.size_of_block(block);
  const std::uint32_t splits = block_bytes == c.block_bytes ? c.splits : 1;
  const std::uint32_t wanted = block_bytes / splits;
  std::uint32_t at = little32(in + kHeaderBytes + 4 * block);
  for (std::uint32_t split = index % c.splits;; --split) {
    if (at > in_bytes - 4) return done(DecodeStatus::truncated_input, kHeaderBytes + 4 * block);
    const std::uint32_t size = little32(in + at);
    at += 4;
    if (size > in_bytes - at) return done(DecodeStatus::truncated_input, at - 4);
    if (split != 0) {
      at += size;
      continue;
    }
    to += block * c.block_bytes + (index % c.splits) * wanted;
    if (size == wanted) {
      team_copy(warp, assume_global(to), in + at, wanted);
      return done(DecodeStatus::ok, at + size);
    }
    opened.task = {task.in + at, size, reinterpret_cast<std::byte*>(to), wanted};
    return opened;
  }
}

/// Memory of a team that finishes a chunk.
struct Shared {
  std::uint64_t first_bad;
};

/// Eight bytes whose bits are rows of an 8 x 8 matrix, transposed: bit k of byte i becomes bit i of byte k.
PENSTOCK_HD std::uint64_t transpose_bits(std::uint64_t x) {
  std::uint64_t t = (x ^ (x >> 7)) & 0x00AA00AA00AA00AAull;
  x ^= t ^ (t << 7);
  t = (x ^ (x >> 14)) & 0x0000CCCC0000CCCCull;
  x ^= t ^ (t << 14);
  t = (x ^ (x >> 28)) & 0x00000000F0F0F0F0ull;
  return x ^ t ^ (t << 28);
}

/// Undoes the shuffle of one block; the team does share `part` of `parts` of it.
template <class Team>
PENSTOCK_HD void unshuffle_block(const Team& team, const Chunk& c, const std::uint8_t* from, std::uint8_t* to,
                                 std::uint32_t bytes, std::uint32_t part, std::uint32_t parts) {
  const std::uint32_t item = c.item_bytes, n = bytes / item;
  const auto share = [&](std::uint32_t units, auto unit) {
    const std::uint32_t each = (units + parts - 1) / parts, begin = part * each < units ? part * each : units;
    const std::uint32_t count = each < units - begin ? each : units - begin;
    team.for_each(count, [&](std::uint32_t i) { unit(begin + i); });
  };
  std::uint32_t done = n * item;
  if (c.byte_shuffle) {
    if (item == 2 && n % 4 == 0 && misalignment(to, 8) == 0 && misalignment(from, 4) == 0)
      share(n / 4, [&](std::uint32_t i) {  // four elements from four bytes of each plane
        const auto low = load_aligned<std::uint32_t>(from + 4 * i),
                   high = load_aligned<std::uint32_t>(from + n + 4 * i);
        const auto pair = [&](std::uint32_t a, std::uint32_t b) {
          return (a & 0xFF) | (b & 0xFF) << 8 | (a & 0xFF00) << 8 | (b & 0xFF00) << 16;
        };
        store_aligned(to + 8 * i, pair(low, high) | static_cast<std::uint64_t>(pair(low >> 16, high >> 16)) << 32);
      });
    else if (item == 2 && misalignment(to, 2) == 0)
      share(n, [&](std::uint32_t i) {
        store_aligned(to + 2 * i, static_cast<std::uint16_t>(from[i] | static_cast<std::uint32_t>(from[n + i]) << 8));
      });
    else
      share(n, [&](std::uint32_t i) {
        for (std::uint32_t j = 0; j < item; ++j) to[i * item + j] = from[j * n + i];
      });
  } else if (n % 8 == 0) {
    share(n / 8 * item, [&](std::uint32_t unit) {
      const std::uint32_t group = unit / item, j = unit % item;
      std::uint64_t rows = 0;
      for (std::uint32_t bit = 0; bit < 8; ++bit)
        rows |= static_cast<std::uint64_t>(from[(j * 8 + bit) * (n / 8) + group]) << (8 * bit);
      const std::uint64_t columns = transpose_bits(rows);
      for (std::uint32_t i = 0; i < 8; ++i)
        to[(group * 8 + i) * item + j] = static_cast<std::uint8_t>(columns >> (8 * i));
    });
  } else {
    done = 0;  // left as it was
  }
  share(bytes - done, [&](std::uint32_t i) { to[done + i] = from[done + i]; });
}

/// Joins the statuses of a chunk's streams and undoes its shuffle from `from`; share `part` of `parts`.
/// `slots`: how many streams there was room for.
template <class Team>
PENSTOCK_HD ChunkStatus finish_chunk(const Team& team, const DecodeTask& task, const Chunk& c, const Opened* opened,
                                     const ChunkStatus* decoded, std::uint32_t slots, const std::uint8_t* from,
                                     std::uint32_t part, std::uint32_t parts, Shared& shared) {
  ChunkStatus result;
  const auto status_of = [&](std::uint32_t i) {
    const ChunkStatus& s = opened[i].status.status == DecodeStatus::not_run ? decoded[i] : opened[i].status;
    return s;
  };
  const std::uint32_t streams = c.status != DecodeStatus::ok ? 1 : c.streams;
  if (streams > slots) {
    result.status = DecodeStatus::scratch_too_small;
    return result;
  }
  team.each_lane([&](std::uint32_t lane) {
    if (lane == 0) shared.first_bad = streams;
  });
  team.for_each(streams, [&](std::uint32_t i) {
    if (status_of(i).status != DecodeStatus::ok) atomic_min(&shared.first_bad, std::uint64_t{i});
  });
  const auto bad = static_cast<std::uint32_t>(shared.first_bad);
  if (bad < streams) {
    result = status_of(bad);
    // The bytes of a chunk of several streams do not come in order.
    result.output_bytes = 0;
    if (opened[bad].status.status == DecodeStatus::not_run)
      result.position += static_cast<std::uint64_t>(opened[bad].task.in - task.in);
    return result;
  }
  if (c.shuffled()) {
    auto* const to = assume_global(reinterpret_cast<std::uint8_t*>(task.out));
    for (std::uint32_t block = 0; block < c.blocks; ++block) {
      const std::uint64_t at = std::uint64_t{block} * c.block_bytes;
      unshuffle_block(team, c, assume_global(from) + at, to + at, c.size_of_block(block), part, parts);
    }
  }
  result.status = DecodeStatus::ok;
  result.position = task.in_bytes;
  result.output_bytes = task.out_bytes;
  return result;
}

}  // namespace penstock::blosc
