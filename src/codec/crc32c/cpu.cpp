// CRC-32C on the CPU.  x86-64 and arm64 have an instruction for it with a latency of three cycles, so three parts of
// the input are taken at once and joined; joining needs "this crc, then N zero bytes", which is linear over GF(2) and
// is done by tables for the two N that occur.
#include <array>
#include <cstring>

#include "codec/crc32c/crc32c.hpp"

#if defined(__x86_64__)
#include <nmmintrin.h>
#define PENSTOCK_CRC_INSTRUCTION 1
#define PENSTOCK_CRC_TARGET __attribute__((target("sse4.2")))
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#define PENSTOCK_CRC_INSTRUCTION 1
#define PENSTOCK_CRC_TARGET
#else
#define PENSTOCK_CRC_INSTRUCTION 0
#endif

namespace penstock {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // reflected

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

/// tables[k][b]: the crc of byte b followed by k zero bytes.
constexpr Tables make_tables() {
  Tables t{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t crc = b;
    for (int i = 0; i < 8; ++i) crc = (crc & 1) != 0 ? (crc >> 1) ^ kPolynomial : crc >> 1;
    t[0][b] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k)
    for (std::size_t b = 0; b < 256; ++b) t[k][b] = (t[k - 1][b] >> 8) ^ t[0][t[k - 1][b] & 0xff];
  return t;
}
constexpr Tables kTables = make_tables();

std::uint64_t load(const std::byte* p) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < 8; ++i) word |= static_cast<std::uint64_t>(p[i]) << (8 * i);
  return word;
}

std::uint32_t one_byte(std::uint32_t crc, std::byte b) {
  return (crc >> 8) ^ kTables[0][(crc ^ static_cast<std::uint32_t>(b)) & 0xff];
}

#if PENSTOCK_CRC_INSTRUCTION
PENSTOCK_CRC_TARGET inline std::uint32_t step8(std::uint32_t crc, const std::byte* p) {
  std::uint64_t word = 0;
  std::memcpy(&word, p, 8);
#if defined(__x86_64__)
  return static_cast<std::uint32_t>(_mm_crc32_u64(crc, word));
#else
  return __crc32cd(crc, word);
#endif
}

/// Appends `zeros` zero bytes to a crc, by four tables of the images of its bytes.
struct Shift {
  std::array<std::array<std::uint32_t, 256>, 4> table{};
  explicit Shift(std::size_t zeros) {
    std::array<std::uint32_t, 32> image{};
    for (std::size_t bit = 0; bit < 32; ++bit) {
      std::uint32_t crc = std::uint32_t{1} << bit;
      for (std::size_t i = 0; i < zeros; ++i) crc = one_byte(crc, std::byte{0});
      image[bit] = crc;
    }
    for (std::size_t k = 0; k < 4; ++k)
      for (std::size_t b = 0; b < 256; ++b)
        for (std::size_t bit = 0; bit < 8; ++bit)
          if ((b >> bit & 1) != 0) table[k][b] ^= image[8 * k + bit];
  }
  [[nodiscard]] std::uint32_t operator()(std::uint32_t crc) const {
    return table[0][crc & 0xff] ^ table[1][crc >> 8 & 0xff] ^ table[2][crc >> 16 & 0xff] ^ table[3][crc >> 24];
  }
};

constexpr std::size_t kLong = 4096;  // bytes of each of the three parts
constexpr std::size_t kShort = 256;

/// Takes three parts of N bytes at a time while they last.
template <std::size_t N>
PENSTOCK_CRC_TARGET std::uint32_t three_at_once(const std::byte*& p, std::size_t& left, std::uint32_t crc,
                                                const Shift& shift) {
  while (left >= 3 * N) {
    std::uint32_t second = 0;
    std::uint32_t third = 0;
    for (std::size_t i = 0; i < N; i += 8) {
      crc = step8(crc, p + i);
      second = step8(second, p + N + i);
      third = step8(third, p + 2 * N + i);
    }
    crc = shift(crc) ^ second;
    crc = shift(crc) ^ third;
    p += 3 * N;
    left -= 3 * N;
  }
  return crc;
}

PENSTOCK_CRC_TARGET std::uint32_t by_instruction(ByteView bytes, std::uint32_t crc) {
  static const Shift long_shift(kLong);
  static const Shift short_shift(kShort);
  const std::byte* p = bytes.data();
  std::size_t left = bytes.size();
  crc = ~crc;
  crc = three_at_once<kLong>(p, left, crc, long_shift);
  crc = three_at_once<kShort>(p, left, crc, short_shift);
  for (; left >= 8; left -= 8, p += 8) crc = step8(crc, p);
  for (; left > 0; --left, ++p) crc = one_byte(crc, *p);
  return ~crc;
}

bool has_instruction() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("sse4.2");
#else
  return true;
#endif
}
#endif

}  // namespace

std::uint32_t crc32c_portable(ByteView bytes, std::uint32_t crc) {
  const std::byte* p = bytes.data();
  std::size_t left = bytes.size();
  crc = ~crc;
  for (; left >= 8; left -= 8, p += 8) {
    const std::uint64_t word = load(p) ^ crc;
    crc = 0;
    for (std::size_t k = 0; k < 8; ++k) crc ^= kTables[7 - k][word >> (8 * k) & 0xff];
  }
  for (; left > 0; --left, ++p) crc = one_byte(crc, *p);
  return ~crc;
}

std::uint32_t crc32c(ByteView bytes, std::uint32_t crc) {
#if PENSTOCK_CRC_INSTRUCTION
  static const bool fast = has_instruction();
  if (fast) return by_instruction(bytes, crc);
#endif
  return crc32c_portable(bytes, crc);
}

}  // namespace penstock
