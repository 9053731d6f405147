#include <gtest/gtest.h>

#include "core/numpy_dtype.hpp"

using namespace penstock;

namespace {

struct Row {
  const char* text;
  Kind kind;
  std::uint32_t size_bytes;
  bool big_endian;
};

}  // namespace

TEST(NumpyDType, ReadsTypeStrings) {
  const Row rows[] = {
      {"|b1", Kind::boolean, 1, false},
      {"bool", Kind::boolean, 1, false},
      {"|u1", Kind::unsigned_int, 1, false},
      {">u1", Kind::unsigned_int, 1, false},
      {"<i2", Kind::signed_int, 2, false},
      {">i2", Kind::signed_int, 2, true},
      {"<u8", Kind::unsigned_int, 8, false},
      {"<f2", Kind::floating, 2, false},
      {">f4", Kind::floating, 4, true},
      {"f8", Kind::floating, 8, false},
      {"=f8", Kind::floating, 8, false},
      {"float64", Kind::floating, 8, false},
      {"uint32", Kind::unsigned_int, 4, false},
      {"<c8", Kind::complex, 8, false},
      {">c16", Kind::complex, 16, true},
      {"|S10", Kind::bytes, 10, false},
      {"<U5", Kind::utf32, 20, false},
      {">U1", Kind::utf32, 4, true},
      {"|V8", Kind::opaque, 8, false},
      {"<M8[ns]", Kind::datetime, 8, false},
      {">m8[25s]", Kind::timedelta, 8, true},
      {"<M8", Kind::datetime, 8, false},
      {"datetime64[us]", Kind::datetime, 8, false},
      {"bfloat16", Kind::bfloat, 2, false},
  };
  for (const Row& row : rows) {
    const auto r = parse_numpy_dtype(row.text);
    ASSERT_TRUE(r) << row.text << ": " << r.error().message();
    EXPECT_EQ(r->dtype.kind, row.kind) << row.text;
    EXPECT_EQ(r->dtype.size_bytes, row.size_bytes) << row.text;
    EXPECT_EQ(r->big_endian, row.big_endian) << row.text;
    EXPECT_FALSE(r->is_object) << row.text;
  }
}

TEST(NumpyDType, TimesKeepTheirUnit) {
  const auto r = parse_numpy_dtype("<M8[25s]");
  ASSERT_TRUE(r);
  EXPECT_EQ(r->dtype.unit, "s");
  EXPECT_EQ(r->dtype.unit_count, 25U);
  EXPECT_EQ(parse_numpy_dtype("<m8").value().dtype.unit, "generic");
  EXPECT_EQ(parse_numpy_dtype("<m8[M]").value().dtype.unit, "M");
  EXPECT_EQ(parse_numpy_dtype("<m8[generic]").value().dtype.unit, "generic");
}

TEST(NumpyDType, WritesWhatItReads) {
  for (const char* text : {"|b1", "|u1", "|i1", "<i2", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16", "|S3", "<U7",
                           "<M8[ns]", "<m8[25s]", "<M8", "|V12", "bfloat16"})
    EXPECT_EQ(parse_numpy_dtype(text).value().dtype.numpy(), text);
}

TEST(NumpyDType, ObjectsAreMarked) {
  EXPECT_TRUE(parse_numpy_dtype("|O").value().is_object);
  EXPECT_TRUE(parse_numpy_dtype("|O").value().dtype.is_vlen());
}

TEST(NumpyDType, RefusesByName) {
  for (const char* text : {"",
                           "<",
                           "|",
                           "f",
                           "<f3",
                           "<f",
                           "<i16",
                           "|i2",
                           "|f8",
                           "<x4",
                           "<f4 ",
                           " <f4",
                           "<-f4",
                           "<f-4",
                           "<M4[ns]",
                           "<M8[",
                           "<M8[]",
                           "<M8[25]",
                           "<M8[xs]",
                           "<M8[0s]",
                           "<M8[99999999999s]",
                           "<M8[s/10]",
                           "|S99999999999",
                           "<U1073741824",
                           "string",
                           "r16",
                           "bytes",
                           "float7",
                           "<<f4"}) {
    const auto r = parse_numpy_dtype(text);
    ASSERT_FALSE(r) << text;
    EXPECT_EQ(r.error().code(), ErrorCode::invalid_metadata) << text;
    EXPECT_NE(r.error().message().find(std::string("'") + text + "'"), std::string::npos) << r.error().message();
  }
  for (const char* text : {"<f16", "<c32", "|S0", "<U0", "|V0"})
    EXPECT_EQ(parse_numpy_dtype(text).error().code(), ErrorCode::unsupported) << text;
}
