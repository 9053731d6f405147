// Configurations: the examples of the codecs' own pages, names, and what is refused and how.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "codec/device_decoder.hpp"
#include "codec/filters/golden.hpp"
#include "core/json.hpp"
#include "core/numpy_dtype.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

ChunkSpec chunk_of(const char* dtype, Shape shape = {6}) {
  return {std::move(shape), parse_dtype_name(dtype).value(), {}};
}

Error refusal(const char* name, const char* configuration, const ChunkSpec& chunk) {
  const auto codec = make_codec({name, configuration}, chunk);
  EXPECT_FALSE(codec) << name << " " << configuration;
  return codec ? Error(ErrorCode::internal, "was not refused") : codec.error();
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

/// The line after "// Example" in each spec.cpp is a codec that can be made.
TEST(FilterSpecs, ExamplesWork) {
  const std::pair<const char*, const char*> files[] = {
      {"shuffle", "float32"},  {"delta", "int32"},    {"fixedscaleoffset", "float64"}, {"quantize", "float64"},
      {"bitround", "float32"}, {"astype", "float64"}, {"packbits", "uint16"},          {"vlen_utf8", "string"},
      {"vlen_bytes", "bytes"}, {"zfp", "float32"}};
  for (const auto& [folder, dtype] : files) {
    std::string text = text_of(std::string(PENSTOCK_CODEC_SOURCES) + "/" + folder + "/spec.cpp");
    text = std::regex_replace(text, std::regex("\n//  +"), " ");  // joins lines that go on
    const std::size_t at = text.find("// Example");
    ASSERT_NE(at, std::string::npos) << folder;
    const std::size_t begin = text.find('{', at);
    const auto example = parse_json(text.substr(begin, text.find('\n', begin) - begin));
    ASSERT_TRUE(example) << folder << ": " << example.error().message();
    const CodecSpec spec{example->at("name"), dump_json(example->at("configuration"))};
    const auto codec = make_codec(spec, chunk_of(dtype));
    ASSERT_TRUE(codec) << folder << ": " << codec.error().message();
  }
}

TEST(FilterSpecs, Names) {
  const std::pair<const char*, const char*> names[] = {
      {"numcodecs.shuffle", "shuffle"},   {"numcodecs.delta", "delta"},
      {"numcodecs.quantize", "quantize"}, {"numcodecs.fixedscaleoffset", "fixedscaleoffset"},
      {"bitround", "bitround"},           {"numcodecs.bitround", "bitround"},
      {"numcodecs.astype", "astype"},     {"numcodecs.packbits", "packbits"},
      {"vlen-utf8", "vlen-utf8"},         {"vlen-bytes", "vlen-bytes"}};
  for (const auto& [v3, v2] : names) {
    ASSERT_NE(find_codec(v3), nullptr) << v3;
    EXPECT_EQ(find_codec(v3), find_codec_v2(v2)) << v3;
  }
  EXPECT_NE(find_codec("packbits"), find_codec_v2("packbits"));
}

TEST(FilterSpecs, DefaultsComeFromTheArray) {
  const auto configuration = [](const char* name, const char* given, const char* dtype) {
    const auto codec = make_codec({name, given}, chunk_of(dtype)).value();
    return std::visit([](const auto& made) { return made->spec().configuration; }, codec);
  };
  EXPECT_EQ(configuration("numcodecs.shuffle", "{}", "float64"), R"({"elementsize":8})");
  EXPECT_EQ(configuration("numcodecs.delta", "{}", "int16"), R"({"dtype":"<i2","astype":"<i2"})");
  EXPECT_EQ(configuration("numcodecs.delta", R"({"dtype": "uint32"})", "uint32"),
            R"({"dtype":"uint32","astype":"<u4"})");
  EXPECT_EQ(configuration("numcodecs.astype", R"({"encode_dtype": "<f4"})", "float64"),
            R"({"encode_dtype":"<f4","decode_dtype":"<f8"})");
  EXPECT_EQ(configuration("packbits", R"({"last_bit": null})", "uint8"),
            R"({"padding_encoding":"none","first_bit":0,"last_bit":7})");
  // v2 has another default than v3
  EXPECT_EQ(codec_from_v2(parse_json(R"({"id": "shuffle"})").value(), DType::float64()).value().configuration,
            R"({"elementsize":4})");
}

TEST(FilterSpecs, RefusalsNameTheMember) {
  const auto expect = [](const char* name, const char* configuration, const char* dtype, ErrorCode code,
                         const char* words) {
    const Error error = refusal(name, configuration, chunk_of(dtype));
    EXPECT_EQ(error.code(), code) << name << configuration << error.message();
    EXPECT_NE(error.message().find(words), std::string::npos) << name << configuration << ": " << error.message();
  };
  const auto bad = ErrorCode::invalid_metadata;
  const auto no = ErrorCode::unsupported;
  expect("numcodecs.shuffle", R"({"elementsize": -1})", "int8", bad, "elementsize");
  expect("numcodecs.shuffle", R"({"elementsize": 1.5})", "int8", bad, "elementsize");
  expect("numcodecs.shuffle", R"({"size": 1})", "int8", bad, "\"size\"");
  expect("numcodecs.delta", R"({"dtype": "<i3"})", "int8", bad, "\"dtype\"");
  expect("numcodecs.delta", R"({"dtype": 4})", "int8", bad, "\"dtype\"");
  expect("numcodecs.delta", R"({"dtype": "|O"})", "int8", no, "\"dtype\"");
  expect("numcodecs.delta", R"({"dtype": "|S4"})", "int32", no, "\"dtype\"");
  expect("numcodecs.delta", R"({"dtype": "<i4"})", "int16", no, "int16 cannot be seen as int32");
  expect("numcodecs.delta", "{}", "bool", no, "bool");
  expect("numcodecs.delta", R"({"astype": "<f4"})", "complex64", no, "complex");
  expect("numcodecs.delta", "{}", "string", no, "plain numbers");
  expect("numcodecs.fixedscaleoffset", R"({"offset": 1})", "float32", bad, "\"scale\"");
  expect("numcodecs.fixedscaleoffset", R"({"offset": "1", "scale": 1})", "float32", bad, "\"offset\"");
  expect("numcodecs.fixedscaleoffset", R"({"offset": NaN, "scale": 1})", "float32", bad, "\"offset\"");
  expect("numcodecs.fixedscaleoffset", R"({"offset": 1, "scale": 0})", "float32", bad, "\"scale\"");
  expect("numcodecs.fixedscaleoffset", R"({"offset": 1, "scale": 1})", "bool", no, "|b1");
  expect("numcodecs.quantize", R"({"digits": 1})", "int32", bad, "<i4");
  expect("numcodecs.quantize", R"({"digits": 301})", "float32", bad, "\"digits\"");
  expect("bitround", R"({"keepbits": -1})", "float32", bad, "\"keepbits\"");
  expect("bitround", R"({"keepbits": 1})", "string", no, "string");
  expect("numcodecs.astype", "{}", "float32", bad, "encode_dtype");
  expect("numcodecs.astype", R"({"encode_dtype": "<f4"})", "complex64", no, "complex");
  expect("numcodecs.packbits", "{}", "int32", no, "int32");
  // Types of the other byte order, but for delta's own two.
  expect("numcodecs.astype", R"({"encode_dtype": ">u2"})", "uint32", no, "\"encode_dtype\" is '>u2'");
  expect("numcodecs.astype", R"({"encode_dtype": "<u4", "decode_dtype": ">u4"})", "uint32", no, "\"decode_dtype\"");
  expect("numcodecs.quantize", R"({"digits": 1, "dtype": ">f4"})", "float32", no, "\"dtype\" is '>f4'");
  expect("numcodecs.quantize", R"({"digits": 1, "astype": ">f4"})", "float64", no, "\"astype\" is '>f4'");
  expect("numcodecs.fixedscaleoffset", R"({"offset": 1, "scale": 1, "dtype": ">f4"})", "float32", no, "\"dtype\"");
  expect("numcodecs.fixedscaleoffset", R"({"offset": 1, "scale": 1, "astype": ">i2"})", "float32", no, "\"astype\"");
  expect("numcodecs.delta", R"({"dtype": ">u4", "astype": "<u4"})", "uint32", no, "\"dtype\" is '>u4'");
  expect("numcodecs.delta", R"({"dtype": "<u4", "astype": ">u4"})", "uint32", no, "\"astype\" is '>u4'");
  expect("numcodecs.delta", R"({"dtype": ">u4", "astype": ">u2"})", "uint32", no, "\"dtype\" is '>u4'");
  expect("numcodecs.delta", R"({"dtype": ">f4"})", "float32", no, "\"dtype\" is '>f4'");
  expect("packbits", R"({"padding_encoding": "start_byte"})", "bool", bad, "padding_encoding");
  expect("packbits", R"({"first_bit": 3, "last_bit": 2})", "int32", bad, "last_bit");
  expect("packbits", R"({"first_bit": 32})", "int32", bad, "first_bit");
  expect("packbits", "{}", "string", no, "string");
  expect("vlen-utf8", "{}", "bytes", bad, "bytes");
  expect("vlen-bytes", "{}", "string", bad, "string");
}

TEST(FilterSpecs, WhatCannotBeWrittenCanBeRead) {
  const auto half = make_codec({"numcodecs.quantize", R"({"digits": 5})"}, chunk_of("float16", {1})).value();
  EXPECT_FALSE(encode(half, std::string(2, '\0')));
  Arena arena;
  EXPECT_TRUE(decode(half, std::string(2, '\0'), 2, arena));
  const auto rounded = make_codec({"bitround", R"({"keepbits": 5})"}, chunk_of("int32", {1})).value();
  EXPECT_FALSE(encode(rounded, std::string(4, '\1')));
  EXPECT_EQ(decode(rounded, std::string(4, '\1'), 4, arena).value(), std::string(4, '\1'));
}

TEST(FilterSpecs, MoreBitsThanThereAreRoundNothing) {
  Arena arena;
  for (const char* dtype : {"int8", "uint8", "bfloat16", "float16", "float32", "complex64", "int64"}) {
    const ChunkSpec chunk = chunk_of(dtype, {2});
    const auto codec = make_codec({"bitround", R"({"keepbits": 64})"}, chunk).value();
    const std::string bytes(2 * chunk.dtype.size_bytes, '\x5b');
    EXPECT_EQ(encode(codec, bytes).value(), bytes) << dtype;
    EXPECT_EQ(decode(codec, bytes, bytes.size(), arena).value(), bytes) << dtype;
  }
}

TEST(FilterSpecs, PackbitsOfFloatsAndTimes) {
  Arena arena;
  for (const char* type : {"<f2", "<M8[ms]", "<m8[s]"}) {
    const ChunkSpec chunk{{3}, parse_numpy_dtype(type).value().dtype, {}};
    std::string bytes(3 * chunk.dtype.size_bytes, '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(37 * i + 150);
    const auto whole = make_codec({"packbits", "{}"}, chunk).value();
    EXPECT_EQ(encode(whole, bytes).value(), bytes) << type << ": all bits are the bytes themselves";
    EXPECT_EQ(decode(whole, bytes, bytes.size(), arena).value(), bytes) << type;
  }
  // Times are signed.
  const ChunkSpec times{{2}, parse_numpy_dtype("<m8[s]").value().dtype, {}};
  const auto codec = make_codec({"packbits", R"({"last_bit": 11})"}, times).value();
  const std::int64_t values[] = {-5, 2047};
  const std::string bytes(reinterpret_cast<const char*>(values), sizeof values);
  const std::string packed = encode(codec, bytes).value();
  EXPECT_EQ(packed.size(), 3U);
  EXPECT_EQ(decode(codec, packed, bytes.size(), arena).value(), bytes);
}

/// What zarr-python stores for these values under {"dtype": ">u4"} and {"dtype": ">i2"}: differences of the swapped
/// integers.  It reads the first two values back, but not those after the carry from 255 to 256.
TEST(FilterSpecs, DeltaInTheOtherByteOrder) {
  Arena arena;
  const std::uint32_t stored[] = {0xFE000000, 0x01000000, 0x01010000, 0x01000000};
  const std::uint32_t values[] = {254, 255, 256, 257};
  const auto both = make_codec({"numcodecs.delta", R"({"dtype": ">u4", "astype": ">u4"})"}, chunk_of("uint32", {4}));
  ASSERT_FALSE(both) << "versions of zarr-python store different things";
  EXPECT_EQ(both.error().code(), ErrorCode::unsupported);
  {
    const auto codec = make_codec({"numcodecs.delta", R"({"dtype": ">u4"})"}, chunk_of("uint32", {4})).value();
    EXPECT_EQ(decode(codec, std::string(reinterpret_cast<const char*>(stored), 16), 16, arena).value(),
              std::string(reinterpret_cast<const char*>(values), 16));
    const auto written = encode(codec, std::string(16, '\1'));
    ASSERT_FALSE(written);
    EXPECT_NE(written.error().message().find("'>u4'"), std::string::npos) << written.error().message();
    EXPECT_EQ(std::get<0>(codec)->device_decoder(), nullptr) << "devices sum, they do not swap";
  }
  const std::int16_t narrow[] = {0x0500, -0x0501}, small[] = {5, -1};  // -1 is the same in both orders
  const auto codec = make_codec({"numcodecs.delta", R"({"dtype": ">i2"})"}, chunk_of("int16", {2})).value();
  EXPECT_EQ(decode(codec, std::string(reinterpret_cast<const char*>(narrow), 4), 4, arena).value(),
            std::string(reinterpret_cast<const char*>(small), 4));
}

TEST(FilterSpecs, ShuffleRefusesPartsOfElements) {
  const auto codec = make_codec({"numcodecs.shuffle", R"({"elementsize": 4})"}, chunk_of("int32")).value();
  EXPECT_EQ(encode(codec, "12345").error().code(), ErrorCode::invalid_argument);
  Arena arena;
  EXPECT_EQ(decode(codec, "12345", 5, arena).error().code(), ErrorCode::corrupt_data);
}

TEST(FilterSpecs, KnownButRefusedCodecsSayWhy) {
  for (const char* id : {"pickle", "vlen-array", "json2", "msgpack2", "categorize", "pcodec"})
    for (const std::string& name : {std::string(id), "numcodecs." + std::string(id)}) {
      const Error error = unknown_codec(name);
      EXPECT_EQ(error.code(), ErrorCode::unsupported);
      EXPECT_NE(error.message().find("'" + name + "' is not supported: "), std::string::npos) << error.message();
      EXPECT_FALSE(error.hint().empty()) << name;
      EXPECT_EQ(find_codec(name), nullptr);
    }
  EXPECT_NE(unknown_codec("pickl").message().find("no codec 'pickl'"), std::string::npos);
}
