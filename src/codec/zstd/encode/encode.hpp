// zstd frames made on a device: a frame for each chunk, of blocks that warps make by themselves (RFC 8878, 3.1.1).
//
// Pass 1 finds the matches of every block, pass 2 entropy codes it, pass 3 sums the sizes of a chunk's blocks and
// writes its header, pass 4 copies the blocks where they belong, pass 5 appends checksums where they are wanted.
#pragma once
#include <cstdint>
#include <memory>

#include "codec/device_encoder.hpp"
#include "codec/zstd/decode/checksum.hpp"
#include "codec/zstd/encode/block.hpp"

namespace penstock::zstd {

inline constexpr std::uint32_t kFrameHeader = 9;  // at most: magic, descriptor, content size
inline constexpr std::uint32_t kBlockHeader = 3;
/// Content sizes of frames are written in 4 bytes.
inline constexpr std::uint64_t kMaxFrame = std::uint64_t{1} << 31;

/// Most bytes that a chunk can become.
PENSTOCK_HD constexpr std::uint64_t max_frame_bytes(std::uint64_t bytes) {
  return kFrameHeader + bytes + (bytes / kEncodedBlock + 1) * kBlockHeader + 4;
}

/// How the scratch of a batch is cut.  Block b of chunk c is number c * each + b.
struct EncodeLayout {
  std::uint32_t each = 0;  ///< blocks of the largest chunk
  std::uint32_t room = 0;  ///< bytes of the largest block, a multiple of 16
  BlockMade* blocks = nullptr;
  std::uint8_t* bytes = nullptr;
  bool checksum = false;

  static constexpr std::uint64_t record_bytes(std::uint64_t blocks) {
    return (blocks * sizeof(BlockMade) + 15) / 16 * 16;
  }
  static EncodeLayout make(std::uint32_t count, std::uint64_t largest_bytes, bool checksum, std::byte* scratch) {
    EncodeLayout layout;
    layout.each = static_cast<std::uint32_t>((largest_bytes + kEncodedBlock - 1) / kEncodedBlock);
    const std::uint64_t most = largest_bytes < kEncodedBlock ? largest_bytes : kEncodedBlock;
    layout.room = static_cast<std::uint32_t>((most + 15) / 16 * 16);
    layout.checksum = checksum;
    if (scratch == nullptr) return layout;  // only its size is asked for
    layout.blocks = reinterpret_cast<BlockMade*>(scratch);
    layout.bytes = reinterpret_cast<std::uint8_t*>(scratch) + record_bytes(std::uint64_t{count} * layout.each);
    return layout;
  }
  [[nodiscard]] std::uint64_t scratch_bytes(std::uint32_t count) const {
    const std::uint64_t all = std::uint64_t{count} * each;
    return record_bytes(all) + all * BlockScratch::bytes(room);
  }
  [[nodiscard]] PENSTOCK_HD BlockScratch scratch(std::uint64_t number) const {
    return BlockScratch::at(assume_global(bytes + number * BlockScratch::bytes(room)), room);
  }
  /// How many blocks a chunk has; none when it cannot be encoded.
  [[nodiscard]] PENSTOCK_HD std::uint32_t blocks_of(std::uint64_t n) const {
    const std::uint64_t blocks_there = (n + kEncodedBlock - 1) / kEncodedBlock;
    return n > kMaxFrame || blocks_there > each ? 0 : static_cast<std::uint32_t>(blocks_there);
  }
};

/// A block of a batch; `bytes` 0: there is none.
struct BlockPlace {
  const std::uint8_t* in;  ///< the chunk
  std::uint32_t n, begin, bytes;
  std::uint64_t chunk;

  PENSTOCK_HD static BlockPlace of(const EncodeBatch& batch, const EncodeLayout& layout, std::uint64_t number) {
    const std::uint64_t chunk = number / layout.each, size = batch.in_bytes[chunk];
    const auto block = static_cast<std::uint32_t>(number % layout.each);
    if (block >= layout.blocks_of(size)) return {nullptr, 0, 0, 0, chunk};
    const auto n = static_cast<std::uint32_t>(size);
    const std::uint32_t begin = block * kEncodedBlock, left = n - begin;
    return {assume_global(reinterpret_cast<const std::uint8_t*>(batch.tasks[chunk].in)), n, begin,
            left < kEncodedBlock ? left : kEncodedBlock, chunk};
  }
};

template <class Warp>
PENSTOCK_HD void find_pass(const Warp& warp, const EncodeBatch& batch, const EncodeLayout& layout, std::uint64_t number,
                           lz::FinderShared& shared) {
  const BlockPlace b = BlockPlace::of(batch, layout, number);
  if (b.bytes == 0) return;
  find_block(warp, b.in, b.n, b.begin, b.begin + b.bytes, layout.scratch(number), layout.blocks + number, shared);
}

template <class Warp>
PENSTOCK_HD void code_pass(const Warp& warp, const EncodeBatch& batch, const EncodeLayout& layout, std::uint64_t number,
                           const PredefinedCoders& coders, BlockShared& shared) {
  const BlockPlace b = BlockPlace::of(batch, layout, number);
  if (b.bytes == 0) return;
  encode_block(warp, b.bytes, layout.scratch(number), layout.blocks + number, coders, shared);
}

/// The content size of a frame takes 1 << flag bytes.
PENSTOCK_HD std::uint32_t size_flag(std::uint32_t n) { return n < 256 ? 0 : n < 65536 + 256 ? 1 : 2; }

/// The header of a frame in one segment, whose window is its content; where it ends.
PENSTOCK_HD std::uint32_t put_frame_header(std::uint8_t* out, std::uint32_t n, bool checksum) {
  BitWriter writer = BitWriter::make(out, 0, kFrameHeader);
  constexpr std::uint32_t kOneSegment = 1 << 5, kHasChecksum = 1 << 2;
  const std::uint32_t flag = size_flag(n);
  writer.put(0xB528, 16);  // the magic number
  writer.put(0xFD2F, 16);
  writer.put(flag << 6 | kOneSegment | (checksum ? kHasChecksum : 0), 8);
  const std::uint32_t value = flag == 1 ? n - 256 : n;
  for (std::uint32_t k = 0; k < 1u << flag; ++k) writer.byte(static_cast<std::uint8_t>(value >> (8 * k)));
  return writer.at;
}

/// Places of a chunk's blocks, and what stands around them.  One lane for each chunk.
PENSTOCK_HD void join_pass(const EncodeBatch& batch, const EncodeLayout& layout, std::uint32_t chunk) {
  const std::uint64_t size = batch.in_bytes[chunk];
  const EncodeTask task = batch.tasks[chunk];
  const std::uint32_t blocks = layout.blocks_of(size);
  batch.out_bytes[chunk] = kNotEncoded;
  if (size > kMaxFrame || (blocks == 0 && size > 0)) return;
  const auto n = static_cast<std::uint32_t>(size);
  const std::uint32_t least = 5 + (1u << size_flag(n)) + (blocks == 0 ? kBlockHeader : 0);
  if (task.room < least) return;
  auto* out = reinterpret_cast<std::uint8_t*>(task.out);
  std::uint64_t at = put_frame_header(out, n, layout.checksum);
  if (blocks == 0) {  // a last block without content
    for (std::uint32_t k = 0; k < kBlockHeader; ++k) out[at++] = k == 0 ? 1 : 0;
  }
  for (std::uint32_t b = 0; b < blocks; ++b) {
    BlockMade& made = layout.blocks[std::uint64_t{chunk} * layout.each + b];
    const std::uint32_t left = n - b * kEncodedBlock, whole = left < kEncodedBlock ? left : kEncodedBlock;
    const std::uint32_t bytes = made.bytes == 0 ? whole : made.bytes;
    if (at + kBlockHeader + bytes > task.room) return;
    made.out_at = static_cast<std::uint32_t>(at);
    at += kBlockHeader + bytes;
  }
  if (layout.checksum) at += 4;
  if (at <= task.room) batch.out_bytes[chunk] = at;
}

template <class Warp>
PENSTOCK_HD void write_pass(const Warp& warp, const EncodeBatch& batch, const EncodeLayout& layout,
                            std::uint64_t number) {
  constexpr std::uint32_t kRaw = 0, kCompressed = 2;
  const BlockPlace b = BlockPlace::of(batch, layout, number);
  if (b.bytes == 0 || batch.out_bytes[b.chunk] == kNotEncoded) return;
  const BlockMade& made = layout.blocks[number];
  auto* out = assume_global(reinterpret_cast<std::uint8_t*>(batch.tasks[b.chunk].out)) + made.out_at;
  const bool raw = made.bytes == 0;
  const std::uint32_t bytes = raw ? b.bytes : made.bytes;
  const std::uint32_t header = (b.begin + b.bytes == b.n ? 1 : 0) | (raw ? kRaw : kCompressed) << 1 | bytes << 3;
  warp.each_lane([&](std::uint32_t lane) {
    if (lane < kBlockHeader) out[lane] = static_cast<std::uint8_t>(header >> (8 * lane));
  });
  const BlockScratch scratch = layout.scratch(number);
  team_copy(warp, out + kBlockHeader, raw ? b.in + b.begin : scratch.content, bytes);
}

/// The checksum of a chunk's content, in the last bytes of its output.
template <class Warp>
PENSTOCK_HD void checksum_pass(const Warp& warp, const EncodeBatch& batch, std::uint32_t chunk,
                               ChecksumShared<Warp::lanes>& shared) {
  const std::uint64_t end = batch.out_bytes[chunk];
  if (end == kNotEncoded) return;
  const auto* in = assume_global(reinterpret_cast<const std::uint8_t*>(batch.tasks[chunk].in));
  auto* out = assume_global(reinterpret_cast<std::uint8_t*>(batch.tasks[chunk].out));
  const std::uint32_t sum = frame_checksum(warp, in, batch.in_bytes[chunk], shared);
  warp.each_lane([&](std::uint32_t lane) {
    if (lane < 4) out[end - 4 + lane] = static_cast<std::uint8_t>(sum >> (8 * lane));
  });
}

/// All passes on the calling thread, by a team of 32 lanes.
template <class Warp>
void encode_on_host(const Warp& warp, const EncodeBatch& batch, bool checksum, std::byte* scratch) {
  const EncodeLayout layout = EncodeLayout::make(batch.count, batch.largest_bytes, checksum, scratch);
  const std::uint64_t blocks = std::uint64_t{batch.count} * layout.each;
  const PredefinedCoders coders = PredefinedCoders::make();
  const auto finder = std::make_unique<lz::FinderShared>();
  const auto shared = std::make_unique<BlockShared>();
  for (std::uint64_t i = 0; i < blocks; ++i) find_pass(warp, batch, layout, i, *finder);
  for (std::uint64_t i = 0; i < blocks; ++i) code_pass(warp, batch, layout, i, coders, *shared);
  for (std::uint32_t i = 0; i < batch.count; ++i) join_pass(batch, layout, i);
  for (std::uint64_t i = 0; i < blocks; ++i) write_pass(warp, batch, layout, i);
  ChecksumShared<Warp::lanes> sums;
  for (std::uint32_t i = 0; checksum && i < batch.count; ++i) checksum_pass(warp, batch, i, sums);
}

}  // namespace penstock::zstd
