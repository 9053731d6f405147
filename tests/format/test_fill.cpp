#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "core/json.hpp"
#include "format/format.hpp"
#include "format/support.hpp"
#include "format/zarr/base64.hpp"
#include "format/zarr/fill.hpp"
#include "format/zarr/float_bits.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

DType of(Kind kind, std::uint32_t size) { return {kind, size, {}, 1, {}}; }

/// JSON -> bytes -> the same JSON.
void expect_both_ways(const DType& dtype, const std::string& json, const std::vector<std::byte>& bytes) {
  const auto read = fill_from_json(dtype, json);
  ASSERT_TRUE(read) << dtype.name() << " " << json << ": " << read.error().message();
  EXPECT_EQ(*read, bytes) << dtype.name() << " " << json;
  EXPECT_EQ(fill_to_json(dtype, bytes).value(), json);
}

Result<std::vector<std::byte>> from_v2(const DType& dtype, std::string_view json) {
  return fill_from(dtype, parse_json(json).value(), {.zarr_format = 2});
}

}  // namespace

TEST(Fill, Numbers) {
  expect_both_ways(DType::boolean(), "true", bytes_of<std::uint8_t>(1));
  expect_both_ways(DType::int8(), "-128", bytes_of<std::int8_t>(-128));
  expect_both_ways(DType::int64(), "-9223372036854775808", bytes_of<std::int64_t>(INT64_MIN));
  expect_both_ways(DType::uint64(), "18446744073709551615", bytes_of<std::uint64_t>(UINT64_MAX));
  expect_both_ways(DType::uint16(), "65535", bytes_of<std::uint16_t>(65535));
  expect_both_ways(DType::float32(), "0.10000000149011612", bytes_of(0.1F));
  expect_both_ways(DType::float64(), "-0.0", bytes_of(-0.0));
  expect_both_ways(DType::float64(), "1e+300", bytes_of(1e300));
  expect_both_ways(DType::float16(), "1.5", bytes_of<std::uint16_t>(0x3E00));
  expect_both_ways(DType::bfloat16(), "1.5", bytes_of<std::uint16_t>(0x3FC0));
  EXPECT_EQ(fill_from_json(DType::int32(), "3.0").value(), bytes_of<std::int32_t>(3));
  EXPECT_EQ(fill_from_json(DType::float32(), "18446744073709551615").value(), bytes_of(0x1p64F));
}

TEST(Fill, NumbersOfTextInZarr2) {
  const DType text = parse_dtype_name("string").value();
  EXPECT_EQ(from_v2(text, "0").value(), bytes_of_text("0")) << "as zarr-python reads it";
  EXPECT_EQ(from_v2(text, "-1.5").value(), bytes_of_text("-1.5"));
  EXPECT_EQ(from_v2(text, R"("")").value(), bytes_of_text(""));
  EXPECT_FALSE(fill_from_json(text, "0"));
  EXPECT_EQ(from_v2(parse_dtype_name("bytes").value(), "0").value(), bytes_of_text(""));
}

TEST(Fill, ListsOfZarr2AreNoElement) {
  for (const DType& type : {DType::boolean(), DType::uint8(), DType::int64(), DType::float32(), DType::bfloat16()})
    for (const char* list : {"[0]", "[1]", "[]", "[0, 0]", "[[0]]"}) EXPECT_FALSE(from_v2(type, list)) << list;
}

TEST(Fill, FloatsThatAreNoNumbers) {
  expect_both_ways(DType::float32(), R"("NaN")", bytes_of<std::uint32_t>(0x7FC00000));
  expect_both_ways(DType::float32(), R"("0x7fc00001")", bytes_of<std::uint32_t>(0x7FC00001));
  expect_both_ways(DType::float64(), R"("0xfff8000000000000")", bytes_of<std::uint64_t>(0xFFF8000000000000));
  expect_both_ways(DType::float16(), R"("-Infinity")", bytes_of<std::uint16_t>(0xFC00));
  expect_both_ways(DType::bfloat16(), R"("NaN")", bytes_of<std::uint16_t>(0x7FC0));
  expect_both_ways(DType::float16(), R"("0x7d01")", bytes_of<std::uint16_t>(0x7D01));
  EXPECT_EQ(fill_from_json(DType::float32(), R"("0x3f800000")").value(), bytes_of(1.0F));
  std::vector<std::byte> pair = bytes_of<std::uint32_t>(0x7FC00001);
  const auto half = bytes_of(-2.0F);
  pair.insert(pair.end(), half.begin(), half.end());
  expect_both_ways(DType::complex64(), R"(["0x7fc00001",-2.0])", pair);
}

TEST(Fill, BytesTextAndTime) {
  expect_both_ways(of(Kind::opaque, 3), "[1,2,255]", bytes_of_text("\x01\x02\xff"));
  EXPECT_EQ(fill_from_json(of(Kind::opaque, 3), R"("AQL/")").value(), bytes_of_text("\x01\x02\xff"));
  expect_both_ways(of(Kind::bytes, 4), R"("YWI=")", bytes_of_text(std::string("ab\0\0", 4)));
  expect_both_ways(of(Kind::utf32, 8), "\"\xc3\xa9\xf0\x9f\x98\x80\"",
                   bytes_of_text(std::string("\xe9\0\0\0\0\xf6\1\0", 8)));
  expect_both_ways(of(Kind::utf32, 8), R"("x")", bytes_of_text(std::string("x\0\0\0\0\0\0\0", 8)));
  expect_both_ways(of(Kind::vlen_utf8, 16), R"("hi")", bytes_of_text("hi"));
  expect_both_ways(of(Kind::vlen_bytes, 16), R"("aGk=")", bytes_of_text("hi"));
  const DType time{Kind::datetime, 8, "s", 25, {}};
  expect_both_ways(time, "-9223372036854775808", bytes_of<std::int64_t>(INT64_MIN));
  EXPECT_EQ(fill_from_json(time, R"("NaT")").value(), bytes_of<std::int64_t>(INT64_MIN));
}

TEST(Fill, StructuresInEveryForm) {
  const DType pair{Kind::structure, 6, {}, 1, {{"a", DType::uint32(), 0, {}}, {"b", DType::uint8(), 4, {2}}}};
  expect_both_ways(pair, R"({"a":258,"b":[3,4]})", bytes_of_text(std::string("\x02\x01\0\0\x03\x04", 6)));
  FillStyle style{.zarr_format = 2, .struct_as_base64 = true};
  const auto bytes = bytes_of_text(std::string("\x02\x01\0\0\x03\x04", 6));
  EXPECT_EQ(fill_to(pair, bytes, style).value(), Json("AgEAAAME"));
  EXPECT_EQ(fill_from(pair, Json("AgEAAAME"), style).value(), bytes);
  style.endian = "big";
  EXPECT_EQ(fill_to(pair, bytes, style).value(), Json("AAABAgME"));
  EXPECT_EQ(fill_from(pair, Json("AAABAgME"), style).value(), bytes);
  style.endian = Json::array({"big", "little"});
  EXPECT_EQ(fill_to(pair, bytes, style).value(), Json("AAABAgME"));
}

TEST(Fill, RefusesWhatDoesNotFit) {
  const DType time{Kind::datetime, 8, "s", 1, {}};
  const DType record{Kind::structure, 1, {}, 1, {{"a", DType::uint8(), 0, {}}}};
  const std::vector<std::tuple<DType, std::string, std::string>> table = {
      {DType::uint8(), "256", "from 0 to 255"},
      {DType::uint8(), "-1", "from 0 to 255"},
      {DType::int8(), "128", "from -128 to 127"},
      {DType::int8(), "-129", "from -128 to 127"},
      {DType::int64(), "9223372036854775808", "whole number"},
      {DType::uint64(), "18446744073709551616", "whole number"},
      {DType::uint64(), "-1", "from 0 to 18446744073709551615"},
      {DType::int32(), "1.5", "whole number"},
      {DType::int32(), "true", "whole number"},
      {DType::int32(), R"("1")", "whole number"},
      {DType::int32(), "null", "whole number"},
      {DType::boolean(), "1", "true or false"},
      {DType::float32(), "1e39", "32-bit float"},
      {DType::float16(), "65520", "16-bit float"},
      {DType::float32(), R"("nan")", "NaN"},
      {DType::float32(), R"("0x7fc0000")", "0x"},
      {DType::float32(), R"("0x7fc0000g")", "0x"},
      {DType::float32(), R"("0x7fc000000")", "0x"},
      {DType::complex64(), "1.0", "[real, imaginary]"},
      {DType::complex64(), "[1.0]", "[real, imaginary]"},
      {of(Kind::opaque, 2), "[1]", "2 bytes"},
      {of(Kind::opaque, 2), "[1,256]", "from 0 to 255"},
      {of(Kind::opaque, 2), R"("A")", "base64"},
      {of(Kind::opaque, 2), R"("A===")", "base64"},
      {of(Kind::opaque, 2), R"("A!==")", "base64"},
      {of(Kind::bytes, 2), R"("YWJj")", "2 bytes"},
      {of(Kind::utf32, 8), R"("abc")", "2 characters"},
      {of(Kind::utf32, 8), "0", "a string"},
      {of(Kind::vlen_utf8, 16), "0", "a string"},
      {time, "\"x\"", "NaT"},
      {time, "0.5", "NaT"},
      {record, R"({"a":256})", "a: must be a whole number from 0 to 255"},
      {record, "{}", "\"a\" is missing"},
      {record, R"({"a":1,"b":2})", "b: the data type has no such field"},
      {record, "1", "an object"},
      {record, R"("AQI=")", "1 bytes"},
  };
  for (const auto& [dtype, json, text] : table) {
    const auto r = fill_from_json(dtype, json);
    ASSERT_FALSE(r) << dtype.name() << " " << json;
    EXPECT_EQ(r.error().code(), ErrorCode::invalid_metadata) << json;
    EXPECT_NE(r.error().message().find(text), std::string::npos) << r.error().message();
  }
}

TEST(Fill, QuirksOfZarr2Writers) {
  EXPECT_EQ(from_v2(of(Kind::bytes, 2), "0").value(), bytes_of<std::uint16_t>(0));
  EXPECT_EQ(from_v2(of(Kind::bytes, 2), R"("")").value(), bytes_of<std::uint16_t>(0));
  EXPECT_EQ(from_v2(of(Kind::utf32, 4), "0").value(), bytes_of<std::uint32_t>(0));
  EXPECT_TRUE(from_v2(of(Kind::vlen_bytes, 16), "0").value().empty());
  EXPECT_EQ(from_v2(DType::boolean(), "1").value(), bytes_of<std::uint8_t>(1));
  EXPECT_EQ(from_v2(DType::int32(), R"("-7")").value(), bytes_of<std::int32_t>(-7));
  EXPECT_EQ(from_v2(DType::uint64(), R"("18446744073709551615")").value(), bytes_of<std::uint64_t>(UINT64_MAX));
  EXPECT_EQ(from_v2(DType::float64(), R"("9.96921e+36")").value(), bytes_of(9.96921e36));
  EXPECT_EQ(from_v2(DType::float32(), R"("NaN")").value(), bytes_of<std::uint32_t>(0x7FC00000));
  for (const char* bad : {R"("0x7fc00001")", R"("x")", "[1,2]", "[]", R"("1 ")"})
    EXPECT_FALSE(from_v2(DType::float32(), bad)) << bad;
  const auto nan = fill_to(DType::float32(), bytes_of<std::uint32_t>(0x7FC00001), {.zarr_format = 2});
  ASSERT_FALSE(nan);
  EXPECT_EQ(nan.error().code(), ErrorCode::unsupported);
}

TEST(FloatBits, AgreeWithTheMachinesFloat) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 200000; ++i) {
    const auto bits = static_cast<std::uint32_t>(random());
    const float value = std::bit_cast<float>(bits);
    if (std::isnan(value)) continue;
    EXPECT_EQ(float_from_bits(bits, {8, 23}), static_cast<double>(value));
    EXPECT_EQ(float_to_bits(value, {8, 23}), bits);
    const double wide = std::bit_cast<double>(random());
    const auto rounded = static_cast<float>(wide);
    if (std::isnan(wide)) continue;
    const auto made = float_to_bits(wide, {8, 23});
    if (std::isinf(rounded) && !std::isinf(wide))
      EXPECT_FALSE(made) << wide;
    else
      EXPECT_EQ(made, std::bit_cast<std::uint32_t>(rounded)) << wide;
    EXPECT_EQ(float_to_bits(wide, {11, 52}), std::bit_cast<std::uint64_t>(wide));
    EXPECT_EQ(float_from_bits(std::bit_cast<std::uint64_t>(wide), {11, 52}), wide);
  }
}

TEST(FloatBits, EverySixteenBitValueComesBack) {
  for (std::uint64_t bits = 0; bits < 65536; ++bits)
    for (const FloatFormat format : {FloatFormat{5, 10}, FloatFormat{8, 7}}) {
      const double value = float_from_bits(bits, format);
      if (!std::isnan(value)) {
        EXPECT_EQ(float_to_bits(value, format), bits);
      }
    }
  // Ties go to the even neighbour; half of the smallest subnormal is zero.
  EXPECT_EQ(float_to_bits(1.0 + 0x1p-11, {5, 10}), 0x3C00U);
  EXPECT_EQ(float_to_bits(1.0 + 0x3p-11, {5, 10}), 0x3C02U);
  EXPECT_EQ(float_to_bits(0x1p-25, {5, 10}), 0U);
  EXPECT_EQ(float_to_bits(0x1.8p-25, {5, 10}), 1U);
  EXPECT_EQ(float_to_bits(65519.9, {5, 10}), 0x7BFFU);
  EXPECT_FALSE(float_to_bits(65520.0, {5, 10}));
}

TEST(Base64, BothWays) {
  for (const auto& [text, encoded] : std::vector<std::pair<std::string, std::string>>{
           {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"\xff\xfe\xfd", "//79"}}) {
    EXPECT_EQ(to_base64(as_bytes(text)), encoded);
    EXPECT_EQ(from_base64(encoded).value(), bytes_of_text(text));
  }
  for (const char* bad : {"Z", "Zg", "Zg=", "Z===", "Zm9v=", "Zg==Zg==", "Zm-_", "====", "Zg= "})
    EXPECT_FALSE(from_base64(bad)) << bad;
}
