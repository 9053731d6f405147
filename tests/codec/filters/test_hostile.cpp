// Damaged input: an error or other values, never a crash, memory within what the input can need.
#include <gtest/gtest.h>

#include "codec/filters/golden.hpp"
#include "codec/packbits/packbits.hpp"
#include "codec/vlen_bytes/vlen.hpp"
#include "core/utf8.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

/// Small cases of every codec; of the large ones damage would only take time.
std::vector<GoldenCase> small_cases() {
  std::vector<GoldenCase> out;
  for (GoldenCase& c : golden_cases())
    if (c.encodable && c.encoded.size() <= 700) out.push_back(std::move(c));
  return out;
}

/// zfp fills its last word of 8 bytes with zeros; how many of them are there does not matter.
bool only_padding_is_cut(const GoldenCase& c, std::size_t n) {
  return c.spec.name.find("zfp") != std::string::npos && n + 8 > c.encoded.size() &&
         c.encoded.find_first_not_of('\0', n) == std::string::npos;
}

}  // namespace

TEST(FiltersHostile, EveryTruncationIsAnError) {
  for (const GoldenCase& c : small_cases()) {
    const auto codec = make_codec(c.spec, c.chunk);
    ASSERT_TRUE(codec);
    const std::uint64_t size = c.chunk.size_bytes().value();
    for (std::size_t n = 0; n < c.encoded.size(); ++n) {
      Arena arena;
      const auto decoded = decode(*codec, c.encoded.substr(0, n), size, arena);
      if (only_padding_is_cut(c, n)) {
        ASSERT_TRUE(!decoded || *decoded == c.restored) << c.text << " cut to " << n;
        continue;
      }
      ASSERT_FALSE(decoded) << c.text << " cut to " << n;
      EXPECT_EQ(decoded.error().code(), ErrorCode::corrupt_data) << c.text;
    }
    Arena arena;
    EXPECT_FALSE(decode(*codec, c.encoded + "x", size, arena)) << c.text << " with a byte too many";
  }
}

TEST(FiltersHostile, EveryFlippedBitIsAnErrorOrAnotherValue) {
  for (const GoldenCase& c : small_cases()) {
    const auto codec = make_codec(c.spec, c.chunk);
    ASSERT_TRUE(codec);
    const std::uint64_t size = c.chunk.size_bytes().value();
    for (std::size_t bit = 0; bit < c.encoded.size() * 8; ++bit) {
      std::string damaged = c.encoded;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
      const std::uint64_t before = host_bytes_in_use();
      reset_host_bytes_peak();
      Arena arena;
      const auto decoded = decode(*codec, damaged, size, arena);
      if (!decoded) {
        EXPECT_EQ(decoded.error().code(), ErrorCode::corrupt_data) << c.text;
      }
      // One copy of the payload; zfp also takes its bound for the chunk, whatever the header says.
      const std::uint64_t working = c.spec.name.find("zfp") == std::string::npos ? 0 : 16384;
      EXPECT_LE(host_bytes_in_use() - before, damaged.size() + 64) << c.text << " bit " << bit;
      EXPECT_LE(host_bytes_peak() - before, damaged.size() + 64 + working) << c.text << " bit " << bit;
    }
  }
}

TEST(FiltersHostile, VlenNamesElementAndByte) {
  const ChunkSpec chunk{{2}, parse_dtype_name("string").value(), {}};
  const auto codec = make_codec({"vlen-utf8", "{}"}, chunk).value();
  const std::string good("\2\0\0\0\1\0\0\0a\2\0\0\0\xc3\xa9", 15);
  const auto message = [&](std::string bytes) {
    Arena arena;
    const auto r = decode(codec, bytes, 2 * sizeof(VlenRef), arena);
    return r ? std::string("ok") : r.error().message();
  };
  EXPECT_EQ(message(good), "ok");
  EXPECT_EQ(message(good.substr(0, 14)), "element 1: 2 bytes are needed at byte 13, the chunk ends at byte 14");
  EXPECT_EQ(message(good.substr(0, 11)), "element 1: 4 bytes are needed at byte 9, the chunk ends at byte 11");
  EXPECT_EQ(message(good + "xy"), "2 bytes too many from byte 15 on");
  EXPECT_EQ(message(std::string("\3") + good.substr(1)), "2 elements expected, byte 0 says 3");
  EXPECT_EQ(message("\2"), "1 bytes, the count needs 4");
  EXPECT_EQ(message(good.substr(0, 14) + "\xc3"), "element 1 is not UTF-8 at its byte 0 (0xc3)");
  // A length near 2^32 asks for no memory.
  EXPECT_EQ(message(std::string("\2\0\0\0\xff\xff\xff\xff", 8) + good.substr(8)),
            "element 0: 4294967295 bytes are needed at byte 8, the chunk ends at byte 15");
}

TEST(FiltersHostile, TextIsCheckedWhenItIsWritten) {
  const ChunkSpec chunk{{2}, parse_dtype_name("string").value(), {}};
  const auto codec = make_codec({"vlen-utf8", "{}"}, chunk).value();
  const std::vector<std::string> texts = {"fine", "not \xff"};
  const auto r = encode(codec, as_elements(texts));
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(r.error().message(), "element 1 is not UTF-8 at its byte 4 (0xff)");
}

TEST(FiltersHostile, Utf8IsThatOfTheStandard) {
  const auto bad_at = [](const std::string& text) { return find_bad_utf8(as_bytes(text)); };
  for (const char* good : {"", "plain ascii, longer than eight", "\u00e9\u65e5\U0001f600", "\xed\x9f\xbf",
                           "\xee\x80\x80", "\xf4\x8f\xbf\xbf", "\xc2\x80", "\xe0\xa0\x80", "\xf0\x90\x80\x80"})
    EXPECT_FALSE(bad_at(good)) << good;
  for (const char* bad :
       {"\x80", "\xc0\xaf", "\xc1\xbf", "\xc2", "\xe0\x9f\xbf", "\xe2\x82", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xc3(", "\xe2(\xa1", "\xf0\x9f\x98(", "\xbf"}) {
    EXPECT_EQ(bad_at(bad), 0U) << bad;
    EXPECT_EQ(bad_at(std::string("eight ascii and ") + bad), 16U) << bad;
  }
}

TEST(FiltersHostile, PackbitsPaddingMustFit) {
  for (const CodecSpec& spec :
       {CodecSpec{"numcodecs.packbits", "{}"}, CodecSpec{"packbits", R"({"padding_encoding": "first_byte"})"}}) {
    const auto codec = make_codec(spec, ChunkSpec{{3}, DType::boolean(), {}}).value();
    Arena arena;
    EXPECT_TRUE(decode(codec, std::string("\5\xa0", 2), 3, arena)) << spec.name;
    const auto r = decode(codec, std::string("\4\xa0", 2), 3, arena);
    ASSERT_FALSE(r) << spec.name;
    EXPECT_EQ(r.error().message(), "5 padding bits expected, byte 0 says 4");
  }
}
