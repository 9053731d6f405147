// A Blosc buffer is a header of 16 bytes, where each block starts, and the blocks, which know nothing of each other.
// c-blosc encodes each as a buffer of its own, in the place where it belongs; the 20 bytes before it (header, start of
// the only block) fall on the end of the block before and are put back.
//
// What is gained is cache: a block is gathered, shuffled and compressed while it is there.
#include "codec/blosc/blocks.hpp"

#include <blosc.h>
#include <fmt/format.h>

#include <array>
#include <cstring>

#include "codec/little.hpp"
#include "codec/scratch.hpp"
#include "codec/shuffle/shuffle.hpp"

namespace penstock::blosc {
namespace {

constexpr std::uint64_t kHeaderBytes = BLOSC_MIN_HEADER_LENGTH;
constexpr std::uint64_t kStartBytes = 4;
constexpr std::uint64_t kFrontBytes = kHeaderBytes + kStartBytes;  // of a buffer of one block
constexpr std::size_t kFlags = 2;                                  // places in the header
constexpr std::size_t kDecodedBytes = 4;
constexpr std::size_t kEncodedBytes = 12;

bool has_flag(const std::byte* buffer, unsigned flag) {
  return (std::to_integer<unsigned>(buffer[kFlags]) & flag) != 0;
}

}  // namespace

Result<bool> encode_blocks(const BloscParameters& p, std::uint64_t block_bytes, PieceSource& in, Bytes& out) {
  const std::uint64_t blocks = in.size() / block_bytes, most = in.size() + BLOSC_MAX_OVERHEAD;
  // Debian builds c-blosc without AVX2; its SSE2 shuffle takes twice as long as ours.
  const bool shuffle_here =
      p.shuffle == BloscShuffle::bytes && shuffles_in_vectors(p.typesize) && block_bytes % p.typesize == 0;
  const auto shuffle = static_cast<int>(shuffle_here ? BloscShuffle::none : p.shuffle);
  ScratchLease scratch;
  if (shuffle_here) PENSTOCK_TRY(scratch->chunk.resize_discard(block_bytes));
  PENSTOCK_TRY(out.resize_discard(most));
  std::array<std::byte, kHeaderBytes> header{};
  std::uint64_t end = kHeaderBytes + kStartBytes * blocks;
  if (end > most) return false;
  for (std::uint64_t i = 0; i < blocks; ++i) {
    PENSTOCK_ASSIGN(ByteView block, in.piece(i * block_bytes, block_bytes));
    if (shuffle_here) {
      shuffle_bytes(block.data(), scratch->chunk.data(), block_bytes / p.typesize, p.typesize);
      block = scratch->chunk.view();
    }
    std::byte* const to = out.data() + end - kFrontBytes;
    std::array<std::byte, kFrontBytes> before;
    std::memcpy(before.data(), to, kFrontBytes);
    const int made = blosc_compress_ctx(p.clevel, shuffle, p.typesize, block_bytes, block.data(), to,
                                        most - end + kFrontBytes, p.cname.c_str(), block_bytes, 1);
    if (made < 0) return Error(ErrorCode::internal, fmt::format("c-blosc failed to encode a block ({})", made));
    if (made == 0 || has_flag(to, BLOSC_MEMCPYED)) return false;  // it would not fit
    if (i == 0) std::memcpy(header.data(), to, kHeaderBytes);
    std::memcpy(to, before.data(), kFrontBytes);
    store_little32(out.data() + kHeaderBytes + kStartBytes * i, static_cast<std::uint32_t>(end));
    end += static_cast<std::uint64_t>(made) - kFrontBytes;
  }
  if (shuffle_here) header[kFlags] |= std::byte{BLOSC_DOSHUFFLE};
  store_little32(header.data() + kDecodedBytes, static_cast<std::uint32_t>(in.size()));
  store_little32(header.data() + kEncodedBytes, static_cast<std::uint32_t>(end));
  std::memcpy(out.data(), header.data(), kHeaderBytes);
  PENSTOCK_TRY(out.resize(end));
  return true;
}

}  // namespace penstock::blosc
