#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "codec/sharding/codec.hpp"
#include "codec/sharding/sharding.hpp"
#include "core/json.hpp"
#include "support.hpp"

namespace penstock {
namespace {

using test::image_bytes;
using test::make_chain;

const std::string kPlainCodecs = R"([{"name":"bytes","configuration":{"endian":"little"}}])";
const std::string kZstdCodecs =
    R"([{"name":"transpose","configuration":{"order":[1,0]}},{"name":"bytes","configuration":{"endian":"big"}},{"name":"zstd","configuration":{"level":1,"checksum":true}}])";
const std::string kIndexCodecs = R"([{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}])";

CodecSpec sharded(const std::string& inner_shape, const std::string& codecs, const std::string& location = "end",
                  const std::string& index_codecs = kIndexCodecs) {
  return {"sharding_indexed", R"({"chunk_shape":)" + inner_shape + R"(,"codecs":)" + codecs + R"(,"index_codecs":)" +
                                  index_codecs + R"(,"index_location":")" + location + "\"}"};
}

ChunkSpec shard_of(Shape shape, std::uint16_t fill = 0) {
  ChunkSpec chunk{std::move(shape), DType::uint16(), {}};
  chunk.fill.resize(2);
  std::memcpy(chunk.fill.data(), &fill, 2);
  return chunk;
}

void round_trip(const CodecSpec& spec, const ChunkSpec& chunk, ByteView data) {
  const CodecChain chain = make_chain({spec}, chunk);
  ScratchBuffers scratch;
  Bytes encoded;
  auto status = chain.encode(data, encoded, scratch);
  ASSERT_TRUE(status) << status.error().message();
  std::vector<std::byte> out(data.size(), std::byte{0xee});
  status = chain.decode(encoded, out, scratch, {});
  ASSERT_TRUE(status) << status.error().message();
  EXPECT_TRUE(std::ranges::equal(out, data));
}

TEST(Sharding, RoundTrips) {
  const ChunkSpec chunk = shard_of({12, 20}, 7);
  auto data = image_bytes(480);
  for (std::size_t i = 0; i < 100; ++i) data[i] = i % 2 == 0 ? std::byte{7} : std::byte{0};  // some chunks are all fill
  for (const char* location : {"start", "end"}) {
    for (const char* inner : {"[3,5]", "[12,20]", "[1,1]", "[2,20]", "[1,4]", "[12,1]"}) {
      SCOPED_TRACE(std::string(location) + inner);
      round_trip(sharded(inner, kPlainCodecs, location), chunk, data);
      round_trip(sharded(inner, kZstdCodecs, location), chunk, data);
      round_trip(sharded(inner, kZstdCodecs, location, kPlainCodecs), chunk, data);
    }
    const auto nested = sharded("[2,2]", kZstdCodecs, location);
    const std::string list = R"([{"name":"sharding_indexed","configuration":)" + nested.configuration + "}]";
    round_trip(sharded("[6,10]", list, location), chunk, data);
  }
}

TEST(Sharding, WritesTheBytesOfTheSpecification) {
  const CodecChain chain = make_chain({sharded("[2]", kPlainCodecs, "end", kPlainCodecs)}, shard_of({6}));
  const std::uint16_t values[] = {1, 2, 0, 0, 5, 6};
  ScratchBuffers scratch;
  Bytes out;
  ASSERT_TRUE(chain.encode(std::as_bytes(std::span(values)), out, scratch));
  // Chunk 0 at 0, chunk 1 all fill and absent, chunk 2 at 4; then three (offset, size) pairs.
  const std::uint64_t index[] = {0, 4, ~0ULL, ~0ULL, 4, 4};
  ASSERT_EQ(out.size(), 8 + sizeof index);
  EXPECT_EQ(std::memcmp(out.data(), "\1\0\2\0\5\0\6\0", 8), 0);
  EXPECT_EQ(std::memcmp(out.data() + 8, index, sizeof index), 0);
  ASSERT_NE(chain.sharding(), nullptr);
  EXPECT_EQ(chain.sharding()->index_bytes(), sizeof index);
  EXPECT_EQ(chain.sharding()->inner_count(), 3U);
}

TEST(Sharding, AbsentInnerChunksAreTheFillValue) {
  const CodecChain chain = make_chain({sharded("[2,2]", kPlainCodecs)}, shard_of({4, 4}, 513));
  Bytes index;
  ASSERT_TRUE(chain.sharding()->encode_index(std::vector<ShardEntry>(4), index));
  ScratchBuffers scratch;
  std::vector<std::byte> out(32);
  const auto status = chain.decode(index, out, scratch, {});
  ASSERT_TRUE(status) << status.error().message();
  for (std::size_t i = 0; i < 32; i += 2)
    EXPECT_EQ(std::to_integer<int>(out[i]) + 256 * std::to_integer<int>(out[i + 1]), 513);
}

std::string index_error(std::vector<ShardEntry> entries, std::uint64_t shard_bytes, const char* location = "end") {
  const CodecChain chain = make_chain({sharded("[2]", kPlainCodecs, location)}, shard_of({6}));
  Bytes index;
  EXPECT_TRUE(chain.sharding()->encode_index(entries, index));
  const auto decoded = chain.sharding()->decode_index(index, shard_bytes);
  if (!decoded) {
    EXPECT_EQ(decoded.error().code(), ErrorCode::corrupt_data);
  }
  return decoded ? "ok" : decoded.error().message();
}

TEST(Sharding, ChecksTheIndex) {
  const std::uint64_t no = ShardEntry::kAbsent;
  const std::uint64_t index = 52;  // 3 entries and a checksum
  EXPECT_EQ(index_error({{0, 4}, {no, no}, {4, 4}}, 8 + index), "ok");
  EXPECT_EQ(index_error({{8, 4}, {4, 4}, {0, 4}}, 12 + index), "ok");
  EXPECT_EQ(index_error({{8, 4}, {4, 0}, {5, 0}}, 12 + index), "ok");
  EXPECT_EQ(index_error({{index, 4}, {no, no}, {no, no}}, 4 + index, "start"), "ok");
  EXPECT_EQ(index_error({{0, 4}, {6, 4}, {no, no}}, 8 + index),
            "index entry 1 (inner chunk [1]): offset 6, size 4 is not within the shard's bytes 0 to 8");
  EXPECT_EQ(
      index_error({{0, 4}, {no, 4}, {no, no}}, 8 + index),
      "index entry 1 (inner chunk [1]): offset 18446744073709551615, size 4 is not within the shard's bytes 0 to 8");
  EXPECT_EQ(
      index_error({{4, no - 3}, {no, no}, {no, no}}, 8 + index),
      "index entry 0 (inner chunk [0]): offset 4, size 18446744073709551612 is not within the shard's bytes 0 to 8");
  EXPECT_EQ(
      index_error({{0, 4}, {no, no}, {3, 4}}, 8 + index),
      "index entry 2 (inner chunk [2]): offset 3, size 4 overlaps index entry 0 (inner chunk [0]): offset 0, size 4");
  EXPECT_EQ(
      index_error({{4, 4}, {no, no}, {4, 4}}, 8 + index),
      "index entry 2 (inner chunk [2]): offset 4, size 4 overlaps index entry 0 (inner chunk [0]): offset 4, size 4");
  EXPECT_EQ(index_error({{0, 4}, {no, no}, {no, no}}, 4 + index, "start"),
            "index entry 0 (inner chunk [0]): offset 0, size 4 is not within the shard's bytes 52 to 56");
  EXPECT_EQ(index_error({{0, 4}, {no, no}, {no, no}}, 20), "the shard has 20 bytes, its index alone 52");
}

TEST(Sharding, EveryTruncationAndBitFlipIsAnErrorOrTheSameValues) {
  for (const char* location : {"start", "end"}) {
    const CodecChain chain = make_chain({sharded("[2,3]", kZstdCodecs, location)}, shard_of({4, 6}));
    const auto data = image_bytes(48);
    ScratchBuffers scratch;
    Bytes encoded;
    ASSERT_TRUE(chain.encode(data, encoded, scratch));
    std::vector<std::byte> out(48);
    for (std::size_t size = 0; size < encoded.size(); ++size) {
      std::vector<std::byte> cut(encoded.data(), encoded.data() + size);  // its own allocation: ASan sees a read beyond
      EXPECT_FALSE(chain.decode(cut, out, scratch, {})) << size;
    }
    for (std::size_t bit = 0; bit < encoded.size() * 8; ++bit) {
      std::vector<std::byte> bad(encoded.data(), encoded.data() + encoded.size());
      bad[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
      if (chain.decode(bad, out, scratch, {})) {  // e.g. a reserved bit of a frame header
        EXPECT_EQ(out, data) << bit;
      }
    }
  }
}

std::string make_error(const CodecSpec& spec, const ChunkSpec& chunk) {
  auto chain = CodecChain::make(std::vector<CodecSpec>{spec}, chunk);
  return chain ? "no error" : chain.error().message();
}

TEST(Sharding, RefusesBadConfigurations) {
  const ChunkSpec chunk = shard_of({12, 20});
  EXPECT_EQ(make_error(sharded("[5,5]", kPlainCodecs), chunk),
            "codec sharding_indexed: \"chunk_shape\" 5 in dimension 0 does not divide the shard's 12");
  EXPECT_EQ(make_error(sharded("[0,5]", kPlainCodecs), chunk),
            "codec sharding_indexed: an extent of \"chunk_shape\" is 0");
  EXPECT_EQ(make_error(sharded("[4]", kPlainCodecs), chunk),
            "codec sharding_indexed: \"chunk_shape\" must hold 2 extents, is [4]");
  EXPECT_EQ(make_error(sharded("[4,4]", "[]"), chunk),
            "codec sharding_indexed: codecs: codecs: an array->bytes codec such as bytes is missing");
  EXPECT_EQ(make_error(sharded("[4,4]", kPlainCodecs, "middle"), chunk),
            "codec sharding_indexed: \"index_location\" must be \"start\" or \"end\", is \"middle\"");
  EXPECT_EQ(make_error(sharded("[4,4]", kPlainCodecs, "end", R"(["bytes"])"), chunk),
            "codec sharding_indexed: index_codecs: codec bytes: \"endian\" is needed for the data type uint64");
  const std::string zstd_index = R"([{"name":"bytes","configuration":{"endian":"little"}},{"name":"zstd"}])";
  EXPECT_EQ(
      make_error(sharded("[4,4]", kPlainCodecs, "end", zstd_index), chunk),
      "codec sharding_indexed: index_codecs: bytes + zstd gives no fixed size, so that the index could not be found");
}

TEST(Sharding, WrittenConfigurationMakesTheSameCodec) {
  const ChunkSpec chunk = shard_of({12, 20});
  const CodecChain first = make_chain({sharded("[3,5]", kZstdCodecs, "start")}, chunk);
  const CodecChain second = make_chain({first.array_to_bytes().spec()}, chunk);
  EXPECT_EQ(first.array_to_bytes().spec(), second.array_to_bytes().spec());
}

TEST(Sharding, ArraysOf32Dimensions) {
  const CodecChain chain = make_chain(
      {{"sharding_indexed", R"({"chunk_shape":)" + to_string(Shape(32, 1)) + R"(,"codecs":)" + kPlainCodecs + "}"}},
      shard_of(Shape(32, 1)));
  EXPECT_EQ(chain.sharding()->inner_count(), 1U);
}

}  // namespace
TEST(ShardingSpec, IsReadAndWrittenInOnePlace) {
  const CodecSpec full = sharded("[4,6]", kZstdCodecs, "start");
  const ShardingSpec spec = ShardingSpec::find({&full, 1}, 2).value().value();
  EXPECT_EQ(spec.chunk_shape, (Shape{4, 6}));
  EXPECT_EQ(spec.codecs.size(), 3u);
  EXPECT_EQ(spec.codecs[2].name, "zstd");
  EXPECT_EQ(spec.index_location, ShardingSpec::IndexLocation::start);
  const CodecSpec printed = spec.print().value();
  EXPECT_EQ(printed.name, "sharding_indexed");
  EXPECT_EQ(parse_json(printed.configuration).value(), parse_json(full.configuration).value());
  // What metadata leave out.
  const CodecSpec least{"sharding_indexed", R"({"chunk_shape":[4],"codecs":["bytes"]})"};
  const ShardingSpec usual = ShardingSpec::find({&least, 1}, 1).value().value();
  EXPECT_EQ(usual.index_location, ShardingSpec::IndexLocation::end);
  ASSERT_EQ(usual.index_codecs.size(), 2u);
  EXPECT_EQ(usual.index_codecs[1].name, "crc32c");
  EXPECT_EQ(usual.codecs[0].name, "bytes");
}

TEST(ShardingSpec, OnlyAShardWithNothingAroundIsFound) {
  const std::vector<CodecSpec> around = {sharded("[4]", kPlainCodecs), {"crc32c", "{}"}};
  EXPECT_FALSE(ShardingSpec::find(around, 1).value());
  EXPECT_FALSE(ShardingSpec::find({}, 1).value());
  const CodecSpec other{"bytes", "{}"};
  EXPECT_FALSE(ShardingSpec::find({&other, 1}, 1).value());
  const CodecSpec wrong = sharded("[4]", kPlainCodecs);
  EXPECT_FALSE(ShardingSpec::find({&wrong, 1}, 2)) << "of another rank";
}

}  // namespace penstock
