#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/json.hpp"

using namespace penstock;

TEST(Json, KeepsOrderAndNumbers) {
  EXPECT_EQ(dump_json(parse_json(R"({"b": 1, "a": [1.5, 18446744073709551615]})").value()),
            R"({"b":1,"a":[1.5,18446744073709551615]})");
}

TEST(Json, PythonsBareWordsAreNumbers) {
  const std::string text = R"({"NaN":[NaN,-Infinity,Infinity],"y":"NaN \" NaN","z":["Infinity",NaN,"\\"],"w":NaN})";
  const Json json = parse_json(text).value();
  EXPECT_TRUE(std::isnan(json["NaN"][0].get<double>()));
  EXPECT_EQ(json["NaN"][1].get<double>(), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(json["y"], "NaN \" NaN");
  EXPECT_EQ(dump_json(json), text);
  EXPECT_EQ(dump_json(json, -1, NonFinite::quoted),
            R"({"NaN":["NaN","-Infinity","Infinity"],"y":"NaN \" NaN","z":["Infinity","NaN","\\"],"w":"NaN"})");
  EXPECT_EQ(dump_json(parse_json("NaN").value()), "NaN");
  for (const char* bad : {"{NaN:1}", "{\"a\":1,Infinity:2}", "NaNx", "-NaN", "[NaN NaN]", "nan", "Infinit", "\"NaN"})
    EXPECT_FALSE(parse_json(bad)) << bad;
  EXPECT_NE(parse_json("[NaN, Infinity, x]").error().message().find("byte 17"), std::string::npos);
  EXPECT_FALSE(int_member(json, "w", 0, 9));
  EXPECT_FALSE(to_u64(json["w"], "w"));
}

TEST(Json, IsWrittenAsNlohmannWritesIt) {
  const Json json = parse_json(R"({"a": [], "b": {}, "c": [1, {"d": "\u00fc\n"}, null, true], "": -1.5e300})").value();
  EXPECT_EQ(dump_json(json), json.dump());
  EXPECT_EQ(dump_json(json, 2), json.dump(2));
  EXPECT_EQ(dump_json(json, 0), json.dump(0));
}

TEST(Json, RefusesWithAPlace) {
  for (const char* bad : {"", "{", "[1,]", "nul", "{\"a\":1}x", "\"\xff\"", "{\"a\":1,\"a\":2}", "{1:2}"}) {
    const auto r = parse_json(bad);
    ASSERT_FALSE(r) << bad;
    EXPECT_EQ(r.error().code(), ErrorCode::invalid_metadata);
  }
  for (const std::string_view zero :
       {std::string_view("{}\0", 3), std::string_view("{}\0x", 4), std::string_view("\0", 1)})
    EXPECT_NE(parse_json(zero).error().message().find("a zero byte at byte"), std::string::npos);
  EXPECT_NE(parse_json("{\"a\": tru}").error().message().find("byte"), std::string::npos);
  EXPECT_NE(parse_json("{\"a\":1,\"a\":2}").error().message().find("\"a\""), std::string::npos);
}

// As a server sends it that packs what it was asked to send as it is.
TEST(Json, WhatIsPackedIsSaidToBe) {
  const Error error = parse_json(std::string_view("\x1f\x8b\x08\x00rest", 8)).error();
  EXPECT_EQ(error.code(), ErrorCode::invalid_metadata);
  EXPECT_EQ(error.message(), "not JSON but packed by gzip");
  EXPECT_FALSE(error.hint().empty());
}

TEST(Json, DepthIsBounded) {
  EXPECT_TRUE(parse_json(std::string(64, '[') + std::string(64, ']')));
  EXPECT_FALSE(parse_json(std::string(65, '[') + std::string(65, ']')));
  EXPECT_FALSE(parse_json(std::string(1'000'000, '[')));
}

TEST(Json, MembersSayWhatIsWrong) {
  const Json j =
      parse_json(R"({"n": 3, "f": 3.0, "h": 3.5, "s": "x", "big": 18446744073709551615, "t": true})").value();
  EXPECT_EQ(int_member(j, "n", 0, 9).value(), 3);
  EXPECT_EQ(int_member(j, "f", 0, 9).value(), 3);
  for (const char* key : {"h", "s", "big", "t", "absent"}) EXPECT_FALSE(int_member(j, key, 0, 9)) << key;
  EXPECT_FALSE(int_member(j, "n", 4, 9));
  EXPECT_EQ(to_u64(*member(j, "big").value(), "big").value(), ~std::uint64_t{0});
  EXPECT_NE(string_member(j, "n").error().message().find("\"n\""), std::string::npos);
  EXPECT_FALSE(only_members(j, {"n", "f"}));
}
