#include <gtest/gtest.h>

#include "codec/chain.hpp"
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
  "chunks": [
    2,
    2
  ],
  "dtype": ">f4",
  "fill_value": "NaN",
  "order": "F",
  "filters": null,
  "dimension_separator": ".",
  "compressor": {
    "id": "zstd",
    "level": 3
  },
  "zarr_format": 2
})";

Dataset parse(std::string_view zarray, std::string_view zattrs = "") {
  auto d = parse_zarr2_array(zarray, zattrs);
  EXPECT_TRUE(d) << (d ? "" : d.error().message()) << "\n" << zarray;
  return d ? *std::move(d) : Dataset();
}

std::string text_of(const std::vector<Document>& documents, std::string_view name) {
  for (const Document& d : documents)
    if (d.name == name) return d.text;
  return "";
}

/// An array of 6 chunks of 4 elements.
std::string zarray(std::string_view dtype, std::string_view fill = "null", std::string_view filters = "null",
                   std::string_view compressor = "null") {
  return R"({"zarr_format": 2, "shape": [24], "chunks": [4], "order": "C", "dtype": )" + std::string(dtype) +
         R"(, "fill_value": )" + std::string(fill) + R"(, "filters": )" + std::string(filters) + R"(, "compressor": )" +
         std::string(compressor) + "}";
}

void expect_round_trip(const Dataset& d) {
  const auto documents = write_zarr2(d);
  ASSERT_TRUE(documents) << documents.error().message();
  EXPECT_EQ(describe(parse(text_of(*documents, ".zarray"), text_of(*documents, ".zattrs"))), describe(d));
}

}  // namespace

TEST(Zarr2, ReadsAnArray) {
  const Dataset d = parse(kArray, R"({"_ARRAY_DIMENSIONS": ["y", "x"], "a": 1})");
  EXPECT_EQ(d.format.version, 2);
  EXPECT_EQ(d.shape, (Shape{4, 5}));
  EXPECT_EQ(d.chunk_shape, (Shape{2, 2}));
  EXPECT_EQ(d.dtype, DType::float32());
  EXPECT_EQ(d.fill, bytes_of<std::uint32_t>(0x7FC00000));
  EXPECT_EQ(*d.keys(), (KeyEncoding{KeyEncoding::Kind::v2, '.'}));
  ASSERT_EQ(d.codecs.size(), 3U);
  EXPECT_EQ(d.codecs[0], (CodecSpec{"transpose", R"({"order":[1,0]})"}));
  EXPECT_EQ(d.codecs[1], (CodecSpec{"bytes", R"({"endian":"big"})"}));
  EXPECT_EQ(d.codecs[2].name, "zstd");
  EXPECT_EQ(d.dimension_names(), (std::vector<std::optional<std::string>>{"y", "x"}));
  EXPECT_EQ(d.attributes, R"({"_ARRAY_DIMENSIONS":["y","x"],"a":1})");
}

TEST(Zarr2, WritesTheSameBytesAsZarrPython) {
  const auto documents = write_zarr2(parse(kArray)).value();
  EXPECT_EQ(text_of(documents, ".zarray"), kArray);
  EXPECT_EQ(text_of(documents, ".zattrs"), "{}");
}

TEST(Zarr2, StructuresOfEveryOrder) {
  Dataset d = parse(zarray(R"([["a", ">i4"], ["b", ">f8", [2, 3]], ["c", "|u1"]])",
                           R"("AAAAAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAc=")"));
  EXPECT_EQ(d.dtype.size_bytes, 53U);
  ASSERT_EQ(d.dtype.fields.size(), 3U);
  EXPECT_EQ(d.dtype.fields[1].shape, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(d.dtype.fields[2].offset_bytes, 52U);
  EXPECT_EQ(d.codecs[0], (CodecSpec{"bytes", R"({"endian":"big"})"}));
  EXPECT_EQ(d.fill[0], std::byte{1}) << "native order";
  EXPECT_EQ(d.fill[52], std::byte{7});
  expect_round_trip(d);

  d = parse(zarray(R"([["a", ">i2"], ["b", [["x", "<i2"], ["y", ">i2"]]]])", R"("AAECAAAD")"));
  EXPECT_EQ(d.codecs[0], (CodecSpec{"bytes", R"({"endian":["big",["little","big"]]})"}));
  EXPECT_EQ(d.fill, bytes_of_text(std::string("\1\0\2\0\3\0", 6)));
  expect_round_trip(d);
}

TEST(Zarr2, StructuresWithByteStringsAmongSwappedFields) {
  // 1 as ">i2", 2 as "<f4" bits, "abc".
  Dataset d = parse(zarray(R"([["a", ">i2"], ["b", "<f4"], ["c", "|S3"]])", R"("AAECAAAAYWJj")"));
  EXPECT_EQ(d.codecs[0], (CodecSpec{"bytes", R"({"endian":["big","little",null]})"}));
  EXPECT_EQ(d.fill, bytes_of_text(std::string("\1\0\2\0\0\0abc", 9)));
  expect_round_trip(d);
  const CodecChain chain = CodecChain::make(d.codecs, {{1}, d.dtype, {}}).value();
  std::vector<std::byte> out(9);
  ScratchBuffers scratch;
  ASSERT_TRUE(chain.decode(bytes_of_text(std::string("\0\1\2\0\0\0abc", 9)), out, scratch, {}));
  EXPECT_EQ(out, d.fill);
}

TEST(Zarr2, FiltersOfBigEndianArrays) {
  const Dataset d = parse(zarray(R"(">i4")", "0", R"([{"id": "delta", "dtype": ">i4", "astype": ">i4"}])"));
  EXPECT_EQ(d.codecs[0], (CodecSpec{"numcodecs.delta", R"({"dtype":"<i4","astype":"<i4"})"}));
  EXPECT_EQ(d.codecs[1], (CodecSpec{"bytes", R"({"endian":"big"})"}));
  expect_round_trip(d);
  Dataset swapped = d;
  swapped.codecs[0].configuration = R"({"dtype":">i4"})";
  const auto written = write_zarr2(swapped);
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().message().find("codecs[0]: dtype"), std::string::npos) << written.error().message();
}

TEST(Zarr2, GapsOfAlignedStructures) {
  const Dataset d = parse(zarray(R"([["a", "|u1"], ["", "|V3"], ["b", "<i4"], ["", "|V2"]])"));
  ASSERT_EQ(d.dtype.fields.size(), 2U);
  EXPECT_EQ(d.dtype.fields[1].offset_bytes, 4U);
  EXPECT_EQ(d.dtype.size_bytes, 10U);
  expect_round_trip(d);
}

TEST(Zarr2, TolerancesOfReaders) {
  const Dataset d = parse(R"({"zarr_format": 2.0, "shape": [0, 3], "chunks": [0, 2], "dtype": "|u1", "order": "C",
                              "fill_value": "3", "_nczarr_array": {"x": 1}, "dimension_separator": "/"})");
  EXPECT_EQ(d.chunk_shape, (Shape{1, 2}));
  EXPECT_EQ(d.grid_shape(), (Shape{0, 2}));
  EXPECT_EQ(d.fill, bytes_of<std::uint8_t>(3));
  EXPECT_EQ(d.format.extra, R"({"_nczarr_array":{"x":1}})");
  EXPECT_EQ(d.keys()->separator, '/');
  expect_round_trip(d);
}

TEST(Zarr2, Groups) {
  const auto group = parse_zarr2_group(R"({"zarr_format": 2})", R"({"x": [1]})").value();
  EXPECT_EQ(group.format.version, 2);
  EXPECT_EQ(group.attributes, R"({"x":[1]})");
  const auto documents = write_zarr2(group).value();
  EXPECT_EQ(text_of(documents, ".zgroup"), "{\n  \"zarr_format\": 2\n}");
  EXPECT_EQ(text_of(documents, ".zattrs"), "{\n  \"x\": [\n    1\n  ]\n}");
}

TEST(Zarr2, DimensionNamesBecomeTheAttributeOfXarray) {
  Dataset d = parse(kArray);
  d.dims = {{"y"}, {"x"}};
  const std::string zattrs = text_of(write_zarr2(d).value(), ".zattrs");
  EXPECT_EQ(zattrs, "{\n  \"_ARRAY_DIMENSIONS\": [\n    \"y\",\n    \"x\"\n  ]\n}");
}

TEST(Zarr2, TextWithoutAFillValueIsNotTextWithAnEmptyOne) {
  for (const std::string fill : {"null", "\"\""}) {
    const Dataset d = parse(R"({"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "|O", "compressor": null,
        "fill_value": )" + fill +
                            R"(, "order": "C", "filters": [{"id": "vlen-utf8"}]})");
    EXPECT_TRUE(d.fill.empty());
    const auto documents = write_zarr2(d).value();
    EXPECT_NE(documents[0].text.find("\"fill_value\": " + fill), std::string::npos) << documents[0].text;
  }
}
