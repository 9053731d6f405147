#include <gtest/gtest.h>

#include "penstock/dataset.hpp"

using namespace penstock;

TEST(KeyEncoding, WritesBothKinds) {
  const std::vector<std::uint64_t> chunk = {3, 0, 12};
  using K = KeyEncoding::Kind;
  EXPECT_EQ((KeyEncoding{K::standard, '/'}).key(chunk), "c/3/0/12");
  EXPECT_EQ((KeyEncoding{K::standard, '.'}).key(chunk), "c.3.0.12");
  EXPECT_EQ((KeyEncoding{K::v2, '.'}).key(chunk), "3.0.12");
  EXPECT_EQ((KeyEncoding{K::v2, '/'}).key(chunk), "3/0/12");
  EXPECT_EQ((KeyEncoding{K::standard, '/'}).key({}), "c");
  EXPECT_EQ((KeyEncoding{K::v2, '.'}).key({}), "0");
}

TEST(Dataset, GridRoundsUpAndIsEmptyAlongAnEmptyDimension) {
  Dataset d;
  d.shape = {10, 0, 9, INT64_MAX};
  d.chunk_shape = {4, 4, 3, 2};
  EXPECT_EQ(d.grid_shape(), (Shape{3, 0, 3, std::uint64_t{1} << 62}));
  EXPECT_EQ(Dataset().grid_shape(), Shape{});
}

TEST(Dataset, InnerChunkIsThatOfTheInnermostShardWithNothingAround) {
  Dataset d;
  d.shape = d.chunk_shape = {64, 64};
  d.codecs = {{"bytes", "{}"}, {"zstd", "{}"}};
  EXPECT_EQ(d.inner_chunk_shape().value(), (Shape{64, 64}));
  const std::string inner = R"({"chunk_shape": [8, 4], "codecs": [{"name": "bytes"}, {"name": "zstd"}]})";
  d.codecs = {{"sharding_indexed", inner}};
  EXPECT_EQ(d.inner_chunk_shape().value(), (Shape{8, 4}));
  const std::string nested =
      R"({"chunk_shape": [16, 16], "codecs": [{"name": "sharding_indexed", "configuration": )" + inner + "}]}";
  d.codecs = {{"sharding_indexed", nested}};
  EXPECT_EQ(d.inner_chunk_shape().value(), (Shape{8, 4}));
  d.codecs = {{"sharding_indexed", inner}, {"crc32c", "{}"}};
  EXPECT_EQ(d.inner_chunk_shape().value(), (Shape{64, 64})) << "a compressed shard is read whole";
}

TEST(Dataset, InnerChunkErrorsNameTheMember) {
  Dataset d;
  d.shape = d.chunk_shape = {64, 64};
  for (const auto& [config, member] : std::vector<std::pair<std::string, std::string>>{
           {"{}", "chunk_shape"},
           {R"({"chunk_shape": [8]})", "codecs[0].configuration.chunk_shape"},
           {R"({"chunk_shape": [8, 0]})", "codecs[0].configuration.chunk_shape[1]"},
           {R"({"chunk_shape": 8})", "codecs[0].configuration.chunk_shape"},
           {"[", "codecs[0].configuration"}}) {
    d.codecs = {{"sharding_indexed", config}};
    const auto r = d.inner_chunk_shape();
    ASSERT_FALSE(r) << config;
    EXPECT_EQ(r.error().code(), ErrorCode::invalid_metadata);
    EXPECT_NE(r.error().message().find(member), std::string::npos) << r.error().message();
  }
}
