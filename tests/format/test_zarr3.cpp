#include <gtest/gtest.h>

#include "format/support.hpp"
#include "format/zarr/zarr.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

// As zarr-python 3.1 writes it.
constexpr std::string_view kArray = R"({
  "shape": [
    4,
    5
  ],
  "data_type": "float32",
  "chunk_grid": {
    "name": "regular",
    "configuration": {
      "chunk_shape": [
        4,
        4
      ]
    }
  },
  "chunk_key_encoding": {
    "name": "default",
    "configuration": {
      "separator": "/"
    }
  },
  "fill_value": 0.10000000149011612,
  "codecs": [
    {
      "name": "bytes",
      "configuration": {
        "endian": "little"
      }
    },
    {
      "name": "crc32c"
    }
  ],
  "attributes": {
    "a": 1
  },
  "dimension_names": [
    "y",
    null
  ],
  "zarr_format": 3,
  "node_type": "array",
  "storage_transformers": []
})";

Dataset parse(std::string_view text) { return std::get<Dataset>(parse_zarr3(text).value()); }

}  // namespace

TEST(Zarr3, ReadsAnArray) {
  const Dataset d = parse(kArray);
  EXPECT_EQ(d.format.version, 3);
  EXPECT_EQ(d.shape, (Shape{4, 5}));
  EXPECT_EQ(d.chunk_shape, (Shape{4, 4}));
  EXPECT_EQ(d.dtype, DType::float32());
  EXPECT_EQ(d.fill, bytes_of(0.1F));
  EXPECT_EQ(*d.keys(), (KeyEncoding{KeyEncoding::Kind::standard, '/'}));
  ASSERT_EQ(d.codecs.size(), 2U);
  EXPECT_EQ(d.codecs[0], (CodecSpec{"bytes", R"({"endian":"little"})"}));
  EXPECT_EQ(d.codecs[1], (CodecSpec{"crc32c", "{}"}));
  EXPECT_EQ(d.dimension_names(), (std::vector<std::optional<std::string>>{"y", std::nullopt}));
  EXPECT_EQ(d.attributes, R"({"a":1})");
  EXPECT_EQ(d.format.extra, "");
}

TEST(Zarr3, WritesTheSameBytesAsZarrPython) { EXPECT_EQ(write_zarr3(parse(kArray)).value(), kArray); }

TEST(Zarr3, Groups) {
  const auto node = parse_zarr3(R"({"zarr_format": 3, "node_type": "group", "attributes": {"x": [1]}})");
  const auto& group = std::get<GroupInfo>(*node);
  EXPECT_EQ(group.attributes, R"({"x":[1]})");
  EXPECT_EQ(write_zarr3(group).value(), R"({
  "attributes": {
    "x": [
      1
    ]
  },
  "zarr_format": 3,
  "node_type": "group"
})");
}

TEST(Zarr3, ShorthandAndDefaults) {
  const Dataset d = parse(R"({"zarr_format": 3, "node_type": "array", "shape": [], "data_type": {"name": "uint8"},
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": []}, "must_understand": true},
    "chunk_key_encoding": "v2", "fill_value": 7, "codecs": ["bytes", {"name": "zstd"}]})");
  EXPECT_EQ(d.rank(), 0U);
  EXPECT_EQ(*d.keys(), (KeyEncoding{KeyEncoding::Kind::v2, '.'}));
  EXPECT_EQ(d.codecs[0], (CodecSpec{"bytes", "{}"}));
  EXPECT_EQ(d.attributes, "{}");
  EXPECT_TRUE(d.dims.empty());
}

TEST(Zarr3, WhatNeedNotBeUnderstoodIsKept) {
  const std::string text = with(std::string(kArray), R"("node_type": "array",)",
                                R"("node_type": "array", "note": {"must_understand": false, "x": 1},)");
  const Dataset d = parse(text);
  EXPECT_EQ(d.format.extra, R"({"note":{"must_understand":false,"x":1}})");
  EXPECT_EQ(describe(parse(write_zarr3(d).value())), describe(d));
}
