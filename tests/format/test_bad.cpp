// Documents that must be refused, each with the code and the member that the error names; and odd ones that are fine.
#include <gtest/gtest.h>

#include "codec/chain.hpp"
#include "format/support.hpp"
#include "format/zarr/zarr.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

constexpr ErrorCode kInvalid = ErrorCode::invalid_metadata;
constexpr ErrorCode kUnsupported = ErrorCode::unsupported;

const std::string kV3 = R"({"zarr_format": 3, "node_type": "array", "shape": [4, 5], "data_type": "int32",
  "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 2]}},
  "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "fill_value": 0,
  "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], "attributes": {}})";
const std::string kV2 = R"({"zarr_format": 2, "shape": [4, 5], "chunks": [2, 2], "dtype": "<i4", "fill_value": 0,
  "order": "C", "filters": null, "compressor": null})";

/// What is changed, the code, and a part of the message.
struct Bad {
  std::string from, to;
  ErrorCode code;
  std::string message;
};

template <class T>
void expect_refused(const Result<T>& result, const Bad& bad) {
  ASSERT_FALSE(result) << bad.from << " -> " << bad.to;
  EXPECT_EQ(error_name(result.error().code()), error_name(bad.code)) << result.error().message();
  EXPECT_NE(result.error().message().find(bad.message), std::string::npos)
      << bad.to << "\n  said:   " << result.error().message() << "\n  wanted: " << bad.message;
}

std::string repeated(std::string_view item, std::size_t count) {
  std::string text = "[";
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + std::string(item);
  return text + "]";
}

}  // namespace

TEST(BadZarr3, EveryErrorNamesTheMember) {
  const std::string grid = R"({"name": "regular", "configuration": {"chunk_shape": [2, 2]}})";
  const std::string keys = R"({"name": "default", "configuration": {"separator": "/"}})";
  const std::string bytes = R"({"name": "bytes", "configuration": {"endian": "little"}})";
  const std::vector<Bad> table = {
      {kV3, "", kInvalid, "not JSON"},
      {kV3, "[]", kInvalid, "must be a JSON object, is []"},
      {kV3, "null", kInvalid, "must be a JSON object"},
      {kV3, "{}", kInvalid, "the member \"zarr_format\" is missing"},
      {R"("attributes": {}})", R"("attributes": {})", kInvalid, "not JSON at byte"},
      {R"("shape": [4, 5],)", R"("shape": [4, 5], "shape": [4, 5],)", kInvalid, "\"shape\" is there twice"},
      {R"("attributes": {})", R"("attributes": )" + std::string(70, '[') + std::string(70, ']'), kInvalid,
       "nested deeper than 64"},
      {R"("zarr_format": 3)", R"("zarr_format": 2)", kInvalid, "\"zarr_format\" must be 3"},
      {R"("zarr_format": 3)", R"("zarr_format": "3")", kInvalid, "\"zarr_format\""},
      {R"("node_type": "array")", R"("node_type": "table")", kInvalid, "node_type: must be \"array\" or \"group\""},
      {R"("node_type": "array", )", "", kInvalid, "the member \"node_type\" is missing"},
      {R"([4, 5])", R"("4, 5")", kInvalid, "shape: must be a list of whole numbers"},
      {R"([4, 5])", "[4, -5]", kInvalid, "shape[1] must be a whole number, 0 or more, is -5"},
      {R"([4, 5])", "[4, 5.5]", kInvalid, "shape[1]"},
      {R"([4, 5])", "[4, true]", kInvalid, "shape[1]"},
      {R"([4, 5])", "[4, null]", kInvalid, "shape[1]"},
      {R"([4, 5])", "[4, 9223372036854775808]", kInvalid, "shape[1]: 9223372036854775808 is more than 2^63-1"},
      {R"([4, 5])", "[4, 1e300]", kInvalid, "shape[1]"},
      {R"([4, 5])", "[4, 18446744073709551616]", kInvalid, "shape[1]"},
      {R"([4, 5])", repeated("1", 33), kUnsupported, "shape: 33 dimensions; penstock has up to 32"},
      {R"([4, 5])", "[4, 5, 6]", kInvalid, "chunk_grid.configuration.chunk_shape: has 2 dimensions, shape has 3"},
      {R"("data_type": "int32",)", "", kInvalid, "\"data_type\" is missing"},
      {R"("int32")", "3", kInvalid, "data_type: must be a name or an object with a name"},
      {R"("int32")", R"("int33")", kUnsupported, "data_type: penstock does not know the data type \"int33\""},
      {R"("int32")", R"("r12")", kUnsupported, "data_type: penstock does not know"},
      {R"("int32")", R"("r0")", kUnsupported, "data_type: penstock does not know"},
      {R"("int32")", R"("r34359738360")", kInvalid, "data_type: an element is over 2 GiB"},
      {R"("int32")", R"({"name": "int32", "configuration": {"x": 1}})", kInvalid,
       "data_type.configuration: the member \"x\""},
      {R"("int32")", R"({"name": ""})", kInvalid, "data_type: the name is empty"},
      {R"("int32")", R"({"configuration": {}})", kInvalid, "data_type: the member \"name\""},
      {R"("int32")", R"({"name": "raw_bytes", "configuration": {"length_bytes": 0}})", kInvalid,
       "data_type.configuration: \"length_bytes\""},
      {R"("int32")", R"({"name": "raw_bytes"})", kInvalid,
       "data_type.configuration: the member \"length_bytes\" is missing"},
      {R"("int32")", R"({"name": "fixed_length_utf32", "configuration": {"length_bytes": 6}})", kInvalid,
       "must be a multiple of 4"},
      {R"("int32")", R"({"name": "numpy.datetime64", "configuration": {"unit": "y", "scale_factor": 1}})", kInvalid,
       "\"unit\" must be a NumPy time unit"},
      {R"("int32")", R"({"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 0}})", kInvalid,
       "\"scale_factor\""},
      {R"("int32")", R"({"name": "struct", "configuration": {"fields": []}})", kInvalid, "\"fields\" must be a list"},
      {R"("int32")", R"({"name": "struct", "configuration": {"fields": [1]}})", kInvalid,
       "data_type.configuration.fields[0]"},
      {R"("int32")", R"({"name": "struct", "configuration": {"fields": [{"name": "a", "data_type": "q"}]}})",
       kUnsupported, "data_type.configuration.fields[0].data_type"},
      {R"("int32")", R"({"name": "struct", "configuration": {"fields": [["a", "int8"], ["a", "int8"]]}})", kInvalid,
       "fields[1]: a second field \"a\""},
      {R"("int32")", R"({"name": "struct", "configuration": {"fields": [["", "int8"]]}})", kInvalid,
       "must not be empty"},
      {R"("int32")", R"({"name": "struct", "configuration": {"fields": [["a", "string"]]}})", kInvalid,
       "must have a fixed size"},
      {R"("int32")", R"({"name": "struct", "configuration": {"fields": [["a", "r17179869176"], ["b", "int8"]]}})",
       kInvalid, "over 2 GiB"},
      {grid, "1", kInvalid, "chunk_grid: must be a name or an object"},
      {grid, R"({"name": "rectangular", "configuration": {}})", kUnsupported, "chunk_grid: the grid \"rectangular\""},
      {grid, R"({"name": "rectilinear", "must_understand": false})", kUnsupported,
       "chunk_grid: the grid \"rectilinear\""},
      {grid, R"({"name": "regular"})", kInvalid, "chunk_grid.configuration: the member \"chunk_shape\" is missing"},
      {grid, R"("regular")", kInvalid, "chunk_grid.configuration"},
      {"[2, 2]", "[2]", kInvalid, "chunk_grid.configuration.chunk_shape: has 1 dimensions, shape has 2"},
      {"[2, 2]", "[2, 0]", kInvalid, "chunk_grid.configuration.chunk_shape[1]: must be 1 or more, is 0"},
      {"[2, 2]", "[2, -2]", kInvalid, "chunk_grid.configuration.chunk_shape[1]"},
      {"[2, 2]", "[4294967296, 4294967296]", kInvalid, "does not fit in 2^63 bytes"},
      {"[2, 2]", "[2, 2], \"x\": 1", kInvalid, "chunk_grid.configuration: the member \"x\" is not known"},
      {R"("/"}}, "fill)", R"("/"}, "x": 1}, "fill)", kUnsupported,
       "chunk_key_encoding.x: a member that penstock does not know"},
      {keys, R"("morton")", kUnsupported, "chunk_key_encoding: the encoding \"morton\""},
      {R"("separator": "/")", R"("separator": "-")", kInvalid, "chunk_key_encoding.configuration.separator"},
      {R"("separator": "/")", R"("separator": "//")", kInvalid, "chunk_key_encoding.configuration.separator"},
      {R"("separator": "/")", R"("separator": 1)", kInvalid, "chunk_key_encoding.configuration.separator"},
      {R"("separator": "/")", R"("other": 1)", kInvalid, "chunk_key_encoding.configuration"},
      {R"("fill_value": 0,)", "", kInvalid, "the member \"fill_value\" is missing"},
      {R"("fill_value": 0)", R"("fill_value": null)", kInvalid, "fill_value: must be a whole number"},
      {R"("fill_value": 0)", R"("fill_value": 2147483648)", kInvalid,
       "fill_value: must be a whole number from -2147483648 to 2147483647"},
      {R"("codecs": [)" + bytes + "]", R"("codecs": [])", kInvalid, "codecs: must be a list of one codec or more"},
      {R"("codecs": [)" + bytes + "]", R"("codecs": "bytes")", kInvalid, "codecs: must be a list"},
      {bytes, bytes + ", 7", kInvalid, "codecs[1]: must be a name or an object with a name, is 7"},
      {bytes, bytes + R"(, {"name": "zstd", "configuration": 1})", kInvalid,
       "codecs[1].configuration: must be an object"},
      {bytes, bytes + R"(, {"name": "zstd", "level": 1})", kUnsupported,
       "codecs[1].level: a member that penstock does not know"},
      {bytes, bytes + R"(, {"name": "zstd", "must_understand": 1})", kInvalid, "codecs[1].must_understand"},
      {bytes, bytes + R"(, {"name": 1})", kInvalid, "codecs[1]: \"name\" must be a string"},
      {R"("endian": "little")", R"("endian": ["little"])", kInvalid, "codecs[0].configuration.endian: must be"},
      {bytes,
       R"({"name": "sharding_indexed", "configuration": {"chunk_shape": [1, 1], "index_codecs": [], "codecs": [
           "transpose", {"name": "bytes", "configuration": {"endian": ["big", "little"]}}]}})",
       kInvalid, "codecs[0].configuration.codecs[1].configuration.endian: must be"},
      {R"("attributes": {})", R"("attributes": [])", kInvalid, "attributes: must be an object, is []"},
      {R"("attributes": {})", R"("dimension_names": ["y"])", kInvalid, "dimension_names: 1 names for 2 dimensions"},
      {R"("attributes": {})", R"("dimension_names": ["y", 1])", kInvalid,
       "dimension_names[1]: must be a string or null"},
      {R"("attributes": {})", R"("dimension_names": "yx")", kInvalid, "dimension_names: must be a list"},
      {R"("attributes": {})", R"("storage_transformers": [{"name": "x"}])", kUnsupported,
       "storage_transformers: penstock does not know \"x\""},
      {R"("attributes": {})", R"("storage_transformers": {})", kInvalid, "storage_transformers: must be a list"},
      {R"("attributes": {})", R"("future": {"a": 1})", kUnsupported,
       "future: an extension that penstock does not know"},
      {R"("attributes": {})", R"("future": {"must_understand": true})", kUnsupported, "future"},
      {R"("attributes": {})", R"("future": 1)", kUnsupported, "future"},
  };
  ASSERT_TRUE(parse_zarr3(kV3)) << parse_zarr3(kV3).error().message();
  for (const Bad& bad : table) expect_refused(parse_zarr3(with(kV3, bad.from, bad.to)), bad);
}

TEST(BadZarr3, Groups) {
  const std::string group = R"({"zarr_format": 3, "node_type": "group", "attributes": {}})";
  ASSERT_TRUE(parse_zarr3(group));
  for (const Bad& bad :
       std::vector<Bad>{{R"("attributes": {})", R"("attributes": 1)", kInvalid, "attributes: must be an object"},
                        {R"("attributes": {})", R"("shape": [1])", kUnsupported, "shape: an extension"},
                        {R"("attributes": {})", R"("x": {"must_understand": null})", kUnsupported, "x: an extension"}})
    expect_refused(parse_zarr3(with(group, bad.from, bad.to)), bad);
}

// The parser keeps codecs as they are; the chain refuses what they say together.
TEST(BadZarr3, CodecsThatContradict) {
  const std::string bytes = R"({"name": "bytes", "configuration": {"endian": "little"}})";
  const std::string transpose = R"({"name": "transpose", "configuration": {"order": [1, 0]}})";
  const std::vector<Bad> table = {
      {bytes, bytes + R"(, {"name": "zstdd"})", kUnsupported, "zstdd"},
      {bytes, bytes + ", " + transpose, kInvalid, "transpose"},
      {bytes, bytes + ", " + bytes, kInvalid, "bytes"},
      {bytes, transpose, kInvalid, "codec"},
      {bytes, R"("bytes")", kInvalid, "endian"},
      {bytes, R"({"name": "transpose", "configuration": {"order": [1, 1]}}, )" + bytes, kInvalid, "order"},
      {bytes, R"({"name": "transpose", "configuration": {"order": [0]}}, )" + bytes, kInvalid, "order"},
      {bytes, bytes + R"(, {"name": "gzip", "configuration": {"level": 77}})", kInvalid, "level"},
      {bytes, R"({"name": "vlen-utf8"})", kInvalid, "vlen-utf8"},
  };
  for (const Bad& bad : table) {
    const auto node = parse_zarr3(with(kV3, bad.from, bad.to));
    ASSERT_TRUE(node) << node.error().message();
    const auto& d = std::get<Dataset>(*node);
    expect_refused(CodecChain::make(d.codecs, ChunkSpec{d.chunk_shape, d.dtype, d.fill}), bad);
  }
}

TEST(BadZarr2, EveryErrorNamesTheMember) {
  const std::vector<Bad> table = {
      {kV2, "", kInvalid, "not JSON"},
      {kV2, "7", kInvalid, ".zarray: must be a JSON object"},
      {kV2, "{}", kInvalid, "\"zarr_format\" is missing"},
      {R"("zarr_format": 2)", R"("zarr_format": 1)", kInvalid, "\"zarr_format\""},
      {R"("zarr_format": 2, )", R"("zarr_format": 2, "zarr_format": 2, )", kInvalid, "\"zarr_format\" is there twice"},
      {R"("shape": [4, 5], )", "", kInvalid, "\"shape\" is missing"},
      {"[4, 5]", "[4, -5]", kInvalid, "shape[1]"},
      {"[4, 5]", "4", kInvalid, "shape: must be a list"},
      {"[4, 5]", "[4, 9223372036854775808]", kInvalid, "shape[1]: 9223372036854775808 is more than 2^63-1"},
      {"[4, 5]", repeated("1", 33), kUnsupported, "shape: 33 dimensions"},
      {"[2, 2]", "[2]", kInvalid, "chunks: has 1 dimensions, shape has 2"},
      {"[2, 2]", "[2, 0]", kInvalid, "chunks[1]: must be 1 or more, is 0"},
      {"[2, 2]", "[2, 2, 0]", kInvalid, "chunks[2]: must be 1 or more, is 0"},
      {"[2, 2]", "true", kInvalid, "chunks: must be a list"},
      {"[2, 2]", "[3037000500, 3037000500]", kInvalid, "chunks: a chunk of"},
      {R"("<i4")", R"("<i3")", kInvalid, "dtype: no NumPy data type '<i3'"},
      {R"("<i4")", R"("<f16")", kUnsupported, "dtype: NumPy data type '<f16'"},
      {R"("<i4")", R"("|O")", kUnsupported, "dtype: \"|O\" without a filter"},
      {R"("<i4")", "4", kInvalid, "dtype: must be a NumPy type string or a list of fields"},
      {R"("<i4")", "[]", kInvalid, "dtype: must be a NumPy type string or a list of fields"},
      {R"("<i4")", "[[]]", kInvalid, "dtype[0]: must be [name, type]"},
      {R"("<i4")", R"([["a", "<i4", 1, 2]])", kInvalid, "dtype[0]: must be [name, type]"},
      {R"("<i4")", R"([["a", "<i4", 0]])", kInvalid, "dtype[0][2][0]: must be 1 or more"},
      {R"("<i4")", R"([["a", "<i4", [4294967296]]])", kInvalid, "dtype[0]: the structure is over 2 GiB"},
      {R"("<i4")", R"([["a", "<i4"], ["a", "<i4"]])", kInvalid, "dtype[1]: a second field \"a\""},
      {R"("<i4")", R"([["", "<i4"]])", kInvalid, "dtype[0]: the name of a field must not be empty"},
      {R"("<i4")", R"([["", "|V4"]])", kInvalid, "dtype: a structure without fields"},
      {R"("<i4")", R"([["a", "|O"]])", kUnsupported, "dtype[0][1]: fields that are objects"},
      {R"("<i4")", R"([["a", [["b", "<i5"]]]])", kInvalid, "dtype[0][1][0][1]"},
      {R"("fill_value": 0)", R"("fill_value": "x")", kInvalid, "fill_value: must be a whole number"},
      {R"("fill_value": 0)", R"("fill_value": 2147483648)", kInvalid, "fill_value"},
      {R"("order": "C")", R"("order": "A")", kInvalid, "order: must be \"C\" or \"F\""},
      {R"("order": "C",)", "", kInvalid, "\"order\" is missing"},
      {R"("filters": null)", R"("filters": {"id": "delta"})", kInvalid, "filters: must be a list or null"},
      {R"("filters": null)", R"("filters": [3])", kInvalid, "filters[0]: must be an object with an id"},
      {R"("filters": null)", R"("filters": [{"id": 3}])", kInvalid, "filters[0]: \"id\" must be a string"},
      {R"("filters": null)", R"("filters": [{"id": "delta", "dtype": "<i4"}, {"id": "nope"}])", kUnsupported,
       "filters[1]: no codec 'nope'"},
      {R"("filters": null)", R"("filters": [{"id": "shuffle", "elementsize": 4}, {"id": "delta", "dtype": "<i4"}])",
       kInvalid, "filters[1]: \"numcodecs.delta\" works on elements but stands after"},
      {R"("filters": null)", R"("filters": [{"id": "delta", "dtype": ">i4"}])", kUnsupported,
       "filters[0]: dtype: \">i4\" in a chain whose elements are little-endian"},
      {R"("filters": null)", R"("filters": [{"id": "delta", "dtype": "<i3"}])", kInvalid, "filters[0]"},
      {R"("compressor": null)", R"("compressor": "zstd")", kInvalid, "compressor: must be an object with an id"},
      {R"("compressor": null)", R"("compressor": {"level": 3})", kInvalid, "compressor: the member \"id\" is missing"},
      {R"("compressor": null)", R"("compressor": {"id": "zstdd"})", kUnsupported,
       "compressor: no codec 'zstdd'; did you mean zstd?"},
      {R"("compressor": null)", R"("compressor": {"id": "gzip", "level": 77})", kInvalid, "compressor"},
      {R"("compressor": null)", R"("compressor": null, "dimension_separator": "")", kInvalid,
       "dimension_separator: must be \"/\" or \".\""},
      {R"("compressor": null)", R"("compressor": null, "dimension_separator": 0)", kInvalid, "dimension_separator"},
  };
  ASSERT_TRUE(parse_zarr2_array(kV2, "")) << parse_zarr2_array(kV2, "").error().message();
  for (const Bad& bad : table) expect_refused(parse_zarr2_array(with(kV2, bad.from, bad.to), ""), bad);
  const std::string objects = with(kV2, R"("<i4")", R"("|O")");
  for (const char* id : {"pickle", "json2", "vlen-array", "msgpack2"}) {
    const Bad bad{"", id, kUnsupported, std::string("filters[0]: objects stored by \"") + id + "\""};
    expect_refused(parse_zarr2_array(
                       with(objects, R"("filters": null)", std::string(R"("filters": [{"id": ")") + id + "\"}]"), ""),
                   bad);
  }
}

TEST(BadZarr2, AttributesAndGroups) {
  expect_refused(parse_zarr2_array(kV2, "[]"), {"", "", kInvalid, ".zattrs: must be a JSON object"});
  expect_refused(parse_zarr2_array(kV2, "{"), {"", "", kInvalid, ".zattrs: not JSON at byte"});
  expect_refused(parse_zarr2_group("{}", ""), {"", "", kInvalid, "\"zarr_format\" is missing"});
  expect_refused(parse_zarr2_group(R"({"zarr_format": 3})", ""), {"", "", kInvalid, "\"zarr_format\""});
  expect_refused(parse_zarr2_group("[]", ""), {"", "", kInvalid, ".zgroup: must be a JSON object"});
}

TEST(OddButFine, LargestShapesAndRanks) {
  const std::string wide = with(with(kV3, "[4, 5]", "[9223372036854775807, 0]"), "[2, 2]", "[1, 9007199254740992]");
  const Dataset d = std::get<Dataset>(parse_zarr3(wide).value());
  EXPECT_EQ(d.shape, (Shape{INT64_MAX, 0}));
  EXPECT_EQ(d.grid_shape(), (Shape{INT64_MAX, 0}));
  const std::string deep = with(with(kV3, "[4, 5]", repeated("3", 32)), "[2, 2]", repeated("1", 32));
  EXPECT_EQ(std::get<Dataset>(parse_zarr3(deep).value()).rank(), 32U);
  EXPECT_EQ(parse_zarr2_array(with(with(kV2, "[4, 5]", repeated("3", 32)), "[2, 2]", repeated("1", 32)), "")->rank(),
            32U);
}

TEST(OddButFine, NullsAndNumbersOfLenientWriters) {
  const std::string nulls = with(kV3, R"("attributes": {})", R"("attributes": null, "dimension_names": null,
      "storage_transformers": null, "consolidated_metadata": null)");
  const Dataset d = std::get<Dataset>(parse_zarr3(with(nulls, "[4, 5]", "[4.0, 5]")).value());
  EXPECT_EQ(d.attributes, "{}");
  EXPECT_TRUE(d.dims.empty());
  EXPECT_EQ(d.shape, (Shape{4, 5}));
  EXPECT_EQ(d.format.extra, "");
}

TEST(OddButFine, ArrayDimensionsThatDoNotFitAreJustAttributes) {
  for (const char* names : {"[\"y\"]", "[\"y\", 1]", "[\"y\", null]", "\"yx\"", "null", "{}"}) {
    const auto d = parse_zarr2_array(kV2, std::string(R"({"_ARRAY_DIMENSIONS": )") + names + "}");
    ASSERT_TRUE(d) << names;
    EXPECT_TRUE(d->dims.empty()) << names;
  }
}

TEST(BadDataset, WritersRefuseWhatReadersWould) {
  const Dataset good = std::get<Dataset>(parse_zarr3(kV3).value());
  using Change = void (*)(Dataset&);
  const std::vector<std::pair<Change, std::string>> table = {
      {[](Dataset& d) { d.chunk_shape = {2}; }, "chunk_shape"},
      {[](Dataset& d) { d.chunk_shape[0] = 0; }, "chunk_shape"},
      {[](Dataset& d) { d.shape[0] = std::uint64_t{1} << 63; }, "shape"},
      {[](Dataset& d) { d.shape = d.chunk_shape = Shape(33, 1); }, "shape"},
      {[](Dataset& d) { d.codecs.clear(); }, "codecs"},
      {[](Dataset& d) { d.codecs[0].configuration = "["; }, "codecs[0].configuration"},
      {[](Dataset& d) { d.attributes = "[]"; }, "attributes"},
      {[](Dataset& d) { d.dims = {{"y"}}; }, "dimension_names"},
      {[](Dataset& d) { d.fill.pop_back(); }, "fill_value"},
  };
  for (const auto& [change, member] : table) {
    Dataset d = good;
    change(d);
    const auto v3 = write_zarr3(d);
    ASSERT_FALSE(v3) << member;
    EXPECT_NE(v3.error().message().find(member), std::string::npos) << v3.error().message();
    d.placement = KeyEncoding{KeyEncoding::Kind::v2, '.'};
    EXPECT_FALSE(write_zarr2(d)) << member;
  }
}

TEST(BadDataset, WhatVersion2CannotSay) {
  Dataset d = std::get<Dataset>(parse_zarr3(kV3).value());
  EXPECT_EQ(write_zarr2(d).error().code(), kUnsupported) << "keys";
  d.placement = KeyEncoding{KeyEncoding::Kind::v2, '/'};
  ASSERT_TRUE(write_zarr2(d));
  const CodecSpec bytes = d.codecs[0];
  d.codecs = {
      {"sharding_indexed", R"({"chunk_shape":[1,1],"codecs":[{"name":"bytes","configuration":{"endian":"little"}}],
    "index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}]})"}};
  expect_refused(write_zarr2(d),
                 {"", "shards", kUnsupported, "codecs[0]: codec sharding_indexed: zarr v2 has no such codec"});
  d.shape = d.chunk_shape = {2, 2, 2};
  d.codecs = {{"transpose", R"({"order":[1,0,2]})"}, bytes};
  expect_refused(write_zarr2(d), {"", "transpose", kUnsupported, "codecs[0]: zarr v2 has no transpose but order F"});
  d.codecs = {{"transpose", R"({"order":[2,1,0]})"}, bytes};
  EXPECT_NE(write_zarr2(d)->front().text.find(R"("order": "F")"), std::string::npos);
}
