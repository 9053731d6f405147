// Blosc buffers that are made block by block: the bytes must be those of c-blosc's own call for the whole.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support.hpp"

namespace penstock {
namespace {

using test::image_bytes;
using test::make_chain;

constexpr std::uint64_t kChunkBytes = std::uint64_t{4} << 20;
constexpr std::uint64_t kMatrixBytes = std::uint64_t{1} << 20;  // many settings, some of them slow

class Bytewise final : public PieceSource {
 public:
  explicit Bytewise(std::span<const std::byte> all) : all_(all) {}
  std::uint64_t size() const override { return all_.size(); }
  Result<ByteView> piece(std::uint64_t first, std::uint64_t count) override {
    ++pieces;
    piece_.assign(all_.begin() + static_cast<std::ptrdiff_t>(first),
                  all_.begin() + static_cast<std::ptrdiff_t>(first + count));
    return ByteView(piece_);
  }
  std::size_t pieces = 0;

 private:
  std::span<const std::byte> all_;
  std::vector<std::byte> piece_;  // nothing but this piece: what is read beyond it shows under AddressSanitizer
};

CodecChain blosc(const std::string& cname, int clevel, const std::string& shuffle, std::uint32_t typesize,
                 std::uint64_t bytes = kChunkBytes, std::uint64_t blocksize = 0) {
  const CodecSpec spec{
      "blosc", fmt::format(R"({{"typesize":{},"cname":"{}","clevel":{},"shuffle":"{}","blocksize":{}}})", typesize,
                           cname, clevel, shuffle, blocksize)};
  return make_chain({{"bytes", R"({"endian":"little"})"}, spec}, {{bytes / 2}, DType::uint16(), {}});
}

std::vector<std::byte> noise(std::size_t size) {
  std::mt19937_64 random(3);
  std::vector<std::byte> out(size);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::byte>(random());
  return out;
}

/// Encodes a first chunk, which shows the block size, then `data` in both ways.
void same_both_ways(const CodecChain& chain, const std::vector<std::byte>& data) {
  ScratchBuffers scratch;
  Bytes first, whole, by_blocks;
  EXPECT_EQ(chain.piece_bytes(), 0u) << "nothing is known of the blocks before the first chunk";
  ASSERT_TRUE(chain.encode(image_bytes(data.size(), 9), first, scratch));
  const std::uint64_t block_bytes = chain.piece_bytes();
  ASSERT_GT(block_bytes, 0u);
  Bytewise source(data);
  const Status status = chain.encode_pieces(source, by_blocks);
  ASSERT_TRUE(status) << status.error().message();
  EXPECT_GE(source.pieces, data.size() / block_bytes);
  ASSERT_TRUE(chain.encode(data, whole, scratch));
  ASSERT_EQ(by_blocks.size(), whole.size());
  EXPECT_EQ(std::memcmp(by_blocks.data(), whole.data(), whole.size()), 0);
  std::vector<std::byte> back(data.size());
  ASSERT_TRUE(chain.decode(by_blocks, back, scratch, {}));
  EXPECT_EQ(back, data);
}

TEST(BloscBlocks, AreWhatTheLibraryMakesOfTheWhole) {
  for (const char* cname : {"lz4", "lz4hc", "zstd", "zlib", "blosclz"})
    for (const char* shuffle : {"noshuffle", "shuffle", "bitshuffle"})
      for (const std::uint32_t typesize : {1u, 2u, 4u, 8u}) {
        SCOPED_TRACE(fmt::format("{} {} typesize {}", cname, shuffle, typesize));
        const int clevel = std::string_view(cname) == "blosclz" ? 9 : 1;  // at 1 it gives these data up
        same_both_ways(blosc(cname, clevel, shuffle, typesize, kMatrixBytes, 16384), image_bytes(kMatrixBytes));
      }
  for (const int clevel : {1, 5, 9}) {
    SCOPED_TRACE(clevel);
    same_both_ways(blosc("lz4", clevel, "shuffle", 2, 4 * kChunkBytes), image_bytes(4 * kChunkBytes));
  }
}

TEST(BloscBlocks, OfDataThatHardlyShrinkOrDoNot) {
  const auto random = noise(kChunkBytes);
  same_both_ways(blosc("lz4", 5, "shuffle", 2), random);  // stored as it is
  auto last_block = image_bytes(kChunkBytes);             // stored within a buffer that is smaller than the input
  std::copy_n(random.begin(), kChunkBytes / 2, last_block.begin() + kChunkBytes / 2);
  same_both_ways(blosc("lz4", 5, "shuffle", 2), last_block);
  for (const std::size_t zeros : {100u, 300u, 400u, 1000u}) {  // about as many as the starts of the blocks take
    auto nearly = random;
    std::fill_n(nearly.begin() + 1000, zeros, std::byte{0});
    same_both_ways(blosc("lz4", 5, "noshuffle", 1), nearly);
  }
  same_both_ways(blosc("lz4", 5, "shuffle", 2), std::vector<std::byte>(kChunkBytes, std::byte{7}));
}

TEST(BloscBlocks, AreNotTriedAfterDataThatDidNotShrink) {
  const CodecChain chain = blosc("lz4", 5, "shuffle", 2);
  ScratchBuffers scratch;
  Bytes out;
  ASSERT_TRUE(chain.encode(image_bytes(kChunkBytes), out, scratch));
  EXPECT_GT(chain.piece_bytes(), 0u);
  ASSERT_TRUE(chain.encode(noise(kChunkBytes), out, scratch));
  EXPECT_EQ(chain.piece_bytes(), 0u);
}

TEST(BloscBlocks, OnlyWhereAChunkIsManyWholeBlocks) {
  ScratchBuffers scratch;
  Bytes out;
  for (const std::uint64_t bytes : {std::uint64_t{4096}, kChunkBytes + 64}) {
    const CodecChain chain = blosc("lz4", 5, "shuffle", 2, bytes);
    ASSERT_TRUE(chain.encode(image_bytes(bytes), out, scratch));
    EXPECT_EQ(chain.piece_bytes(), 0u) << bytes;
  }
  const CodecChain swapped =
      make_chain({{"bytes", R"({"endian":"big"})"},
                  {"blosc", R"({"typesize":2,"cname":"lz4","clevel":5,"shuffle":"shuffle","blocksize":0})"}},
                 {{kChunkBytes / 2}, DType::uint16(), {}});
  ASSERT_TRUE(swapped.encode(image_bytes(kChunkBytes), out, scratch));
  EXPECT_EQ(swapped.piece_bytes(), 0u) << "the blocks are not those of the elements in memory";
}

}  // namespace
}  // namespace penstock
