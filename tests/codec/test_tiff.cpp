// The codecs of TIFF files: there and back, what others write, what they should not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "codec/chain.hpp"
#include "codec/list.hpp"
#include "codec/tiff_lzw/tiff_lzw.hpp"
#include "core/json.hpp"

using namespace penstock;
using namespace penstock::tiff;

namespace {

std::vector<std::byte> text(std::string_view characters) {
  const auto bytes = std::as_bytes(std::span(characters));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::vector<std::byte>> samples() {
  std::vector<std::vector<std::byte>> all = {{}, text("a"), text("aaaaaaaaaaaaaaaa"), text("abababababababa")};
  std::mt19937 random(5);
  for (const unsigned values : {1U, 2U, 5U, 256U})
    for (const std::size_t size : {100U, 5000U, 200000U}) {
      std::vector<std::byte> bytes(size);
      for (std::byte& b : bytes) b = static_cast<std::byte>(random() % values);
      all.push_back(std::move(bytes));
    }
  std::vector<std::byte> ramp(100000);
  for (std::size_t i = 0; i < ramp.size(); ++i) ramp[i] = static_cast<std::byte>(i / 3 % 251);
  all.push_back(std::move(ramp));
  return all;
}

/// Codes of 9 bits, the highest bit first.
std::vector<std::byte> nine_bits(const std::vector<unsigned>& codes) {
  std::vector<std::byte> out((codes.size() * 9 + 7) / 8);
  for (std::size_t i = 0; i < codes.size() * 9; ++i)
    if ((codes[i / 9] >> (8 - i % 9) & 1) != 0) out[i / 8] |= static_cast<std::byte>(0x80 >> i % 8);
  return out;
}

std::string lzw_error(const std::vector<unsigned>& codes, std::size_t size) {
  std::vector<std::byte> out(size);
  const Status done = decode_lzw(nine_bits(codes), out, LzwVariant::standard);
  return done ? "none" : done.error().message();
}

TEST(TiffLzw, ThereAndBack) {
  for (const auto& sample : samples()) {
    Bytes encoded;
    ASSERT_TRUE(encode_lzw(sample, encoded));
    std::vector<std::byte> out(sample.size(), std::byte{0xa5});
    const Status done = decode_lzw(ByteView(encoded.data(), encoded.size()), out, LzwVariant::standard);
    ASSERT_TRUE(done) << done.error().message();
    ASSERT_EQ(out, sample);
  }
}

TEST(TiffLzw, StopsAtFullOutputAndNeedsNoEnd) {
  std::vector<std::byte> out(4);
  ASSERT_TRUE(decode_lzw(nine_bits({256, 'a', 258, 'b', 511, 511}), out, LzwVariant::standard));
  EXPECT_EQ(out, text("aaab"));
}

TEST(TiffLzw, WhatIsNoStreamIsCorruptAndNamesTheByte) {
  EXPECT_EQ(lzw_error({'a', 'b'}, 2), "LZW without a Clear code at the beginning at byte 1");
  EXPECT_EQ(lzw_error({256, 'a', 300}, 9), "LZW code 300 is not in the table yet at byte 3");
  EXPECT_EQ(lzw_error({256, 258}, 9), "LZW code 258 is not in the table yet at byte 2");
  EXPECT_EQ(lzw_error({256, 'a', 257}, 9), "the LZW end code stands at byte 3, with 1 of 9 bytes made");
  EXPECT_EQ(lzw_error({256, 'a'}, 9), "the LZW codes end at byte 3, with 1 of 9 bytes made");
}

TEST(TiffLzw, ClearsInARowAreNothing) { EXPECT_EQ(lzw_error({256, 256, 256, 'a', 256, 256, 'b'}, 2), "none"); }

/// As image-rs and SNAP have met it: the table is full and no Clear comes.
TEST(TiffLzw, AFullTableAddsNothing) {
  std::vector<std::byte> bytes, want;
  std::uint64_t held = 0;
  unsigned bits = 0;
  const auto put = [&](unsigned code, unsigned width) {
    held = held << width | code;
    for (bits += width; bits >= 8; bits -= 8) bytes.push_back(static_cast<std::byte>(held >> (bits - 8)));
  };
  put(256, 9);
  for (unsigned i = 0; i < 6000; ++i) {
    const unsigned next = 258 + std::min(i, 3839U);
    put(i % 200, next >= 2048 ? 12 : next >= 1024 ? 11 : next >= 512 ? 10 : 9);
    want.push_back(static_cast<std::byte>(i % 200));
  }
  put(4095, 12);  // the last entry: code 3837 and the byte after it
  put(0, 12);
  want.push_back(static_cast<std::byte>(3837 % 200));
  want.push_back(static_cast<std::byte>(3838 % 200));
  std::vector<std::byte> out(want.size());
  const Status done = decode_lzw(bytes, out, LzwVariant::standard);
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(out, want);
}

TEST(TiffLzw, OldStyle) {
  std::vector<std::byte> bytes;
  std::uint64_t held = 0;
  unsigned bits = 0, count = 0;
  const auto put = [&](unsigned code, unsigned width) {
    held |= std::uint64_t{code} << bits;
    for (bits += width; bits >= 8; bits -= 8, held >>= 8) bytes.push_back(static_cast<std::byte>(held));
  };
  std::vector<std::byte> want;
  put(256, 9);
  for (; count < 700; ++count) {
    const unsigned next = 257 + count;  // codes grow one later
    put(count % 256, next >= 512 ? 10 : 9);
    want.push_back(static_cast<std::byte>(count % 256));
  }
  put(0, 16);
  EXPECT_TRUE(is_old_style_lzw(bytes));
  std::vector<std::byte> out(want.size());
  ASSERT_TRUE(decode_lzw(bytes, out, LzwVariant::old_style));
  EXPECT_EQ(out, want);
}

TEST(TiffLzw, BrokenStreamsEnd) {
  std::mt19937 random(9);
  for (const auto& sample : samples()) {
    if (sample.size() != 5000) continue;
    Bytes encoded;
    ASSERT_TRUE(encode_lzw(sample, encoded));
    for (int i = 0; i < 200; ++i) {
      std::vector<std::byte> broken(encoded.data(), encoded.data() + random() % (encoded.size() + 1));
      for (int k = 0; k < 3 && !broken.empty(); ++k)
        broken[random() % broken.size()] ^= static_cast<std::byte>(1U << random() % 8);
      std::vector<std::byte> out(sample.size());
      (void)decode_lzw(broken, out, i % 2 == 0 ? LzwVariant::standard : LzwVariant::old_style);
    }
  }
}

/// Through the chain, as files have them.
TEST(TiffCodecs, ChainsThereAndBack) {
  std::mt19937 random(3);
  for (const char* type : {"uint8", "int16", "uint32", "int64", "float16", "float32", "float64"})
    for (const int predictor : {2, 3})
      for (const bool little : {true, false})
        for (const std::uint64_t samples : {1, 3})
          for (const char* compressor : {"tiff.lzw", "tiff.packbits"}) {
            const DType dtype = *parse_dtype_name(type);
            if (predictor == 3 && dtype.kind != Kind::floating) continue;
            const ChunkSpec chunk{{samples, 7, 33}, dtype, {}};
            std::vector<CodecSpec> specs;
            if (samples > 1) specs.push_back({"transpose", R"({"order":[1,2,0]})"});
            specs.push_back(
                {"tiff.predictor",
                 Json{{"predictor", predictor}, {"samples", samples}, {"endian", little ? "little" : "big"}}.dump()});
            specs.push_back({compressor, "{}"});
            const auto chain = CodecChain::make(specs, chunk);
            ASSERT_TRUE(chain) << chain.error().message();
            std::vector<std::byte> values(samples * 7 * 33 * dtype.size_bytes), out(values.size());
            for (std::byte& b : values) b = static_cast<std::byte>(random() % 4);
            Bytes encoded;
            ScratchBuffers scratch;
            ASSERT_TRUE(chain->encode(values, encoded, scratch));
            ASSERT_TRUE(chain->decode(ByteView(encoded.data(), encoded.size()), out, scratch, {}));
            ASSERT_EQ(out, values) << type << predictor << little << samples << compressor;
          }
}

TEST(TiffCodecs, NoZarrHasThem) {
  for (const CodecEntry& entry : file_codec_list()) {
    EXPECT_EQ(find_codec(entry.name), nullptr);
    EXPECT_FALSE(codecs_from_json(Json::array({Json{{"name", std::string(entry.name)}}})));
  }
}

Result<CodecChain> chain_of(std::vector<CodecSpec> codecs, Shape shape) {
  return CodecChain::make(codecs, {std::move(shape), DType::uint8(), {std::byte{0}}});
}

TEST(TiffBits, RowsBeginWithAByteOfTheirOwn) {
  const auto chain = chain_of({{"tiff.bits", "{}"}}, {1, 2, 10}).value();
  std::vector<std::byte> mask(20, std::byte{0}), out(20);
  for (const std::size_t i : {0U, 7U, 9U, 12U}) mask[i] = std::byte{255};
  Bytes encoded;
  ScratchBuffers scratch;
  ASSERT_TRUE(chain.encode(mask, encoded, scratch));
  const std::vector<std::byte> want = {std::byte{0x81}, std::byte{0x40}, std::byte{0x20}, std::byte{0}};
  ASSERT_TRUE(std::ranges::equal(encoded.view(), want));
  ASSERT_TRUE(chain.decode(encoded, out, scratch, {}));
  EXPECT_EQ(out, mask);
  EXPECT_FALSE(chain.decode(ByteView(want).first(3), out, scratch, {}));
  EXPECT_FALSE(CodecChain::make(std::vector<CodecSpec>{{"tiff.bits", "{}"}}, {{1, 2, 10}, DType::uint16(), {}}));
}

TEST(TiffFillOrder, EveryByteIsTurnedAround) {
  const auto chain = chain_of({{"bytes", "{}"}, {"tiff.fill_order", "{}"}}, {256}).value();
  std::vector<std::byte> all(256), out(256);
  for (std::size_t i = 0; i < 256; ++i) all[i] = static_cast<std::byte>(i);
  Bytes encoded;
  ScratchBuffers scratch;
  ASSERT_TRUE(chain.encode(all, encoded, scratch));
  EXPECT_EQ(encoded.view()[1], std::byte{0x80});
  EXPECT_EQ(encoded.view()[0x16], std::byte{0x68});
  ASSERT_TRUE(chain.decode(encoded, out, scratch, {}));
  EXPECT_EQ(out, all);
}

/// What libjpeg makes is compared in tests/python/test_tiff.py; here, what is none.
TEST(TiffJpeg, HostileStreamsAreErrors) {
  const auto chain = chain_of({{"tiff.jpeg", R"({"samples":3,"color":"ycbcr"})"}}, {16, 16, 3}).value();
  std::vector<std::byte> out(16 * 16 * 3);
  ScratchBuffers scratch;
  const auto message = [&](const std::vector<std::byte>& in) {
    const Status done = chain.decode(in, out, scratch, {});
    return done ? "none" : done.error().message();
  };
  EXPECT_NE(message({}), "none");
  EXPECT_NE(message(text("not a JPEG at all")), "none");
  // A frame of 65535 x 65535, which nothing is allocated for.
  std::vector<std::byte> huge;
  for (const int b : {0xff, 0xd8, 0xff, 0xc0, 0, 17, 8, 0xff, 0xff, 0xff, 0xff, 3, 1, 0x11, 0,  2, 0x11, 0, 3,
                      0x11, 0,    0xff, 0xda, 0, 12, 3, 1,    0,    2,    0,    3, 0, 0,    63, 0, 0,    0})
    huge.push_back(static_cast<std::byte>(b));
  EXPECT_NE(message(huge).find("65535 x 65535 pixels, 16 x 16 wanted"), std::string::npos) << message(huge);
  EXPECT_FALSE(chain_of({{"tiff.jpeg", R"({"samples":3,"color":"ycbcr","tables":"f"})"}}, {16, 16, 3}));
  EXPECT_FALSE(chain_of({{"tiff.jpeg", R"({"samples":1,"color":"ycbcr"})"}}, {16, 16}));
  EXPECT_FALSE(chain_of({{"tiff.jpeg", R"({"samples":3})"}}, {16, 16, 4}));
}

}  // namespace
