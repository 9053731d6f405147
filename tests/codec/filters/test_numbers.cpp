// Conversion between number types beyond the golden cases, and the fast paths against plain ones.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>
#include <random>

#include "codec/astype/number.hpp"
#include "codec/filters/golden.hpp"
#include "codec/fixedscaleoffset/fixedscaleoffset.hpp"
#include "codec/packbits/packbits.hpp"
#include "codec/shuffle/shuffle.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

std::vector<std::byte> random_bytes(std::size_t n, unsigned seed = 7) {
  std::mt19937 random(seed);
  std::vector<std::byte> out(n);
  for (std::byte& b : out) b = static_cast<std::byte>(random());
  return out;
}

}  // namespace

TEST(Numbers, PromoteAsNumpy) {
  const Number expected[][3] = {
      {Number::i1, Number::i1, Number::i1}, {Number::i1, Number::u1, Number::i2}, {Number::u2, Number::i1, Number::i4},
      {Number::u1, Number::i2, Number::i2}, {Number::u4, Number::i4, Number::i8}, {Number::u8, Number::i8, Number::f8},
      {Number::u8, Number::i1, Number::f8}, {Number::i1, Number::f2, Number::f2}, {Number::i2, Number::f2, Number::f4},
      {Number::u2, Number::f4, Number::f4}, {Number::i4, Number::f4, Number::f8}, {Number::f2, Number::f8, Number::f8},
      {Number::b1, Number::u2, Number::u2}, {Number::u4, Number::u2, Number::u4}, {Number::i8, Number::f2, Number::f8},
  };
  for (const auto& row : expected) {
    EXPECT_EQ(promote(row[0], row[1]), row[2]);
    EXPECT_EQ(promote(row[1], row[0]), row[2]);
  }
}

TEST(Numbers, ShuffleOfEverySizeAndLength) {
  for (std::size_t size = 1; size <= 17; ++size)
    for (const std::size_t n : {0U, 1U, 2U, 15U, 16U, 17U, 31U, 32U, 33U, 255U, 256U, 257U, 1000U}) {
      const auto in = random_bytes(n * size);
      std::vector<std::byte> expected(n * size);
      std::vector<std::byte> out(n * size);
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < size; ++j) expected[j * n + i] = in[i * size + j];
      shuffle_bytes(in.data(), out.data(), n, size);
      ASSERT_EQ(out, expected) << size << " x " << n;
      unshuffle_bytes(expected.data(), out.data(), n, size);
      ASSERT_EQ(out, in) << size << " x " << n;
    }
}

TEST(Numbers, BoolsPackFromAnyByte) {
  // Every byte but 0 is true, also 0x80 and 0x01 beside each other.
  for (std::size_t n = 0; n <= 40; ++n) {
    auto in = random_bytes(n, static_cast<unsigned>(n));
    for (std::size_t i = 0; i < n; i += 3) in[i] = std::byte{0};
    for (const BitOrder order : {BitOrder::min_first, BitOrder::max_first}) {
      std::vector<std::byte> packed((n + 7) / 8);
      pack_bools(in.data(), packed.data(), n, order);
      std::vector<std::byte> out(n);
      unpack_bools(packed.data(), out.data(), n, order);
      for (std::size_t i = 0; i < n; ++i) {
        const auto bit = order == BitOrder::min_first ? i % 8 : 7 - i % 8;
        ASSERT_EQ((static_cast<unsigned>(packed[i / 8]) >> bit) & 1U, in[i] != std::byte{0} ? 1U : 0U);
        ASSERT_EQ(static_cast<unsigned>(out[i]), in[i] != std::byte{0} ? 1U : 0U);
      }
    }
  }
}

TEST(Numbers, FieldsOfEveryWidth) {
  for (const std::uint32_t size : {1U, 2U, 4U, 8U})
    for (std::uint32_t first = 0; first < 8 * size; first += 3)
      for (std::uint32_t bits = 1; first + bits <= 8 * size; ++bits) {
        const BitField field{size, first, bits, false};
        constexpr std::size_t kCount = 11;
        const auto in = random_bytes(kCount * size, bits);
        std::vector<std::byte> packed((kCount * bits + 7) / 8);
        std::vector<std::byte> out(in.size());
        pack_fields(field, in.data(), packed.data(), kCount);
        unpack_fields(field, packed.data(), out.data(), kCount);
        for (std::size_t i = 0; i < kCount; ++i) {
          std::uint64_t x = 0;
          std::uint64_t y = 0;
          std::memcpy(&x, in.data() + i * size, size);
          std::memcpy(&y, out.data() + i * size, size);
          const std::uint64_t mask = (bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1) << first;
          ASSERT_EQ(y, x & mask) << size << ' ' << first << ' ' << bits;
        }
      }
}

TEST(Numbers, MixedSignsOf64BitsAreExact) {
  // NumPy adds uint64 and int64 as floats; here the values come back.
  for (const char* configuration : {R"({"dtype": "<u8", "astype": "<i8"})", R"({"dtype": "<i8", "astype": "<u8"})"}) {
    const auto codec = make_codec({"numcodecs.delta", configuration}, ChunkSpec{{5}, DType::uint64(), {}}).value();
    const auto in = random_bytes(40);
    const std::string text(reinterpret_cast<const char*>(in.data()), in.size());
    const auto encoded = encode(codec, text);
    ASSERT_TRUE(encoded);
    Arena arena;
    EXPECT_EQ(decode(codec, *encoded, 40, arena).value(), text);
  }
}

TEST(Numbers, NaNStaysNaN) {
  const auto codec = make_codec({"bitround", R"({"keepbits": 0})"}, ChunkSpec{{3}, DType::float32(), {}}).value();
  const std::uint32_t in[] = {0x7FC00000, 0x7FFFFFFF, 0xFF800001};
  const auto encoded = encode(codec, std::string(reinterpret_cast<const char*>(in), sizeof in));
  ASSERT_TRUE(encoded);
  for (std::size_t i = 0; i < 3; ++i) {
    float x = 0;
    std::memcpy(&x, encoded->data() + 4 * i, 4);
    EXPECT_TRUE(x != x) << i;
  }
}

TEST(Numbers, SumsKeepTheFirstOfTwoNaNs) {
  const auto codec =
      make_codec({"numcodecs.delta", R"({"dtype": "<f8"})"}, ChunkSpec{{4}, DType::float64(), {}}).value();
  constexpr std::uint64_t kOne = 0x3FF0'0000'0000'0000, kQuiet = 0x7FF8'0000'0000'0001;
  constexpr std::uint64_t kSignalling = 0xFFF0'0000'0000'0002, kQuieted = 0xFFF8'0000'0000'0002;
  const auto sums = [&](const std::array<std::uint64_t, 4>& differences) {
    Arena arena;
    const std::string bytes(reinterpret_cast<const char*>(differences.data()), sizeof differences);
    const std::string decoded = decode(codec, bytes, 32, arena).value();
    std::array<std::uint64_t, 4> out{};
    std::memcpy(out.data(), decoded.data(), sizeof out);
    return out;
  };
  EXPECT_EQ(sums({kOne, kQuiet, kSignalling, 0}), (std::array{kOne, kQuiet, kQuiet, kQuiet}));
  EXPECT_EQ(sums({kSignalling, kQuiet, kOne, kQuiet}), (std::array{kQuieted, kQuieted, kQuieted, kQuieted}));
}

TEST(Numbers, FillValueFollowsTheElements) {
  ChunkSpec chunk{{4}, DType::float64(), std::vector<std::byte>(8)};
  const double fill = -3.0;
  std::memcpy(chunk.fill.data(), &fill, 8);
  const auto codec =
      make_codec({"numcodecs.fixedscaleoffset", R"({"offset": 0, "scale": 10, "astype": "<i2"})"}, chunk).value();
  const ChunkSpec& encoded = (*std::get_if<std::unique_ptr<ArrayToArray>>(&codec))->encoded();
  EXPECT_EQ(encoded.dtype, DType::int16());
  ASSERT_EQ(encoded.fill.size(), 2U);
  std::int16_t value = 0;
  std::memcpy(&value, encoded.fill.data(), 2);
  EXPECT_EQ(value, -3);
}
