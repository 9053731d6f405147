// Codecs as people write them, and their names.
#include <gtest/gtest.h>

#include <algorithm>

#include "codec/list.hpp"
#include "penstock/codec.hpp"

namespace penstock {
namespace {

std::vector<CodecSpec> parsed(const std::string& text) { return parse_codecs(text, DType::uint16()).value(); }

TEST(CodecText, WritesEveryParameterOut) {
  ASSERT_EQ(parsed("zstd:level=7").size(), 1u);
  EXPECT_EQ(parsed("zstd:level=7")[0].name, "zstd");
  EXPECT_EQ(parsed("zstd:level=7")[0].configuration, R"({"level":7,"checksum":false})");
  EXPECT_EQ(parsed("lz4")[0].name, "numcodecs.lz4") << "by the name of v2";
  EXPECT_EQ(parsed("blosc:cname=lz4")[0].configuration,
            parsed(R"({"name":"blosc","configuration":{"cname":"lz4"}})")[0].configuration);
  EXPECT_EQ(parsed(R"(["zstd", {"name": "crc32c"}])").size(), 2u);
  EXPECT_TRUE(parsed("none").empty());
}

TEST(CodecText, MistakesAreOfTheOneWhoTyped) {
  for (const char* text :
       {"", "zstdd", "zstd:3", "zstd:level=99", "zstd:lvl=3", "delta", "bytes", "{", "[1]", "zstd:"}) {
    const auto codecs = parse_codecs(text, DType::uint16());
    ASSERT_FALSE(codecs) << text;
    EXPECT_EQ(codecs.error().code(), ErrorCode::invalid_argument) << text;
  }
  EXPECT_NE(parse_codecs("zstdd", DType::uint16()).error().message().find("Did you mean zstd?"), std::string::npos);
}

TEST(CodecLists, ShardsAreSeenThrough) {
  const CodecSpec bytes = {"bytes", R"({"endian":"little"})"}, zstd = {"zstd", R"({"level":1,"checksum":false})"};
  const CodecSpec inner = sharding_codec({2, 2}, {bytes, zstd}).value();
  const CodecSpec outer = sharding_codec({4, 4}, {inner}).value();
  EXPECT_TRUE(shards(std::vector{outer}, 2).value());
  EXPECT_FALSE(shards(std::vector{bytes, zstd}, 2).value());
  EXPECT_EQ(element_codecs(std::vector{outer}, 2).value(), (std::vector{bytes, zstd}));
  EXPECT_EQ(element_codecs(std::vector{bytes, zstd}, 2).value(), (std::vector{bytes, zstd}));
  const auto bad = element_codecs(std::vector{CodecSpec{outer.name, "{}"}}, 2);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code(), ErrorCode::invalid_metadata);
}

TEST(CodecLists, KindsAreAskedOfTheCodecs) {
  const std::vector<CodecSpec> codecs = {
      {"transpose", R"({"order":[1,0]})"}, {"bytes", R"({"endian":"little"})"}, {"crc32c", "{}"}};
  EXPECT_EQ(codec_kinds(codecs, {4, 2}, DType::uint16()).value(),
            (std::vector{CodecKind::array_array, CodecKind::array_bytes, CodecKind::bytes_bytes}));
  const auto unknown = codec_kinds(std::vector{CodecSpec{"zstdd", "{}"}}, {4}, DType::uint16());
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message().find("zstd"), std::string::npos);
}

TEST(CodecNames, AreThoseOfTheList) {
  const auto names = codec_names();
  ASSERT_EQ(names.size(), codec_list().size());
  for (const CodecNames& codec : names) {
    EXPECT_EQ(find_codec(codec.name)->name, codec.name);
    for (const std::string& alias : codec.aliases) EXPECT_EQ(find_codec(alias)->name, codec.name);
    if (!codec.v2_id.empty()) EXPECT_NE(find_codec_v2(codec.v2_id), nullptr);
  }
}

TEST(CodecNames, CompressorsAreTakenAsTheyAre) {
  const auto names = compressor_names();
  for (const std::string& name : names) EXPECT_TRUE(parse_codecs(name, DType::float32())) << name;
  for (const char* compressor : {"none", "zstd", "gzip", "blosc", "lz4"})
    EXPECT_TRUE(std::ranges::count(names, compressor) == 1) << compressor;
  for (const char* other : {"delta", "bytes", "sharding_indexed"})
    EXPECT_FALSE(std::ranges::count(names, other)) << other;
}

}  // namespace
}  // namespace penstock
