#include <array>
#include <cstring>

#include "codec/packbits/packbits.hpp"

namespace penstock {
namespace {

// Bytes are moved as little-endian words; penstock's metadata says so too ("bytes" codec with a stated order).
static_assert(std::endian::native == std::endian::little, "packbits reads words in little-endian order");

/// Eight bools as the bits of a byte, the first one lowest.
std::uint32_t pack_eight(const std::byte* in) {
  std::uint64_t x = 0;
  std::memcpy(&x, in, 8);
  // The highest bit of each byte: whether the byte is not 0.
  x = (((x & 0x7F7F7F7F7F7F7F7FU) + 0x7F7F7F7F7F7F7F7FU) | x) & 0x8080808080808080U;
  // Byte i has the one bit 7; the product brings it to bit 56 + i without a carry.
  return static_cast<std::uint32_t>(((x >> 7) * 0x0102040810204080U) >> 56);
}

constexpr std::uint32_t reversed(std::uint32_t byte) {
  std::uint32_t out = 0;
  for (int i = 0; i < 8; ++i) out |= ((byte >> i) & 1U) << (7 - i);
  return out;
}

/// Byte -> its eight bits as bytes, lowest first.
constexpr std::array<std::uint64_t, 256> kSpread = [] {
  std::array<std::uint64_t, 256> table{};
  for (std::size_t byte = 0; byte < 256; ++byte)
    for (std::size_t i = 0; i < 8; ++i) table[byte] |= ((byte >> i) & 1U) << (8 * i);
  return table;
}();

constexpr std::array<std::uint8_t, 256> kReversed = [] {
  std::array<std::uint8_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) table[byte] = static_cast<std::uint8_t>(reversed(byte));
  return table;
}();

std::byte ordered(std::uint32_t min_first, BitOrder order) {
  return static_cast<std::byte>(order == BitOrder::min_first ? min_first : kReversed[min_first]);
}

std::uint64_t low_bits(std::uint32_t bits) { return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1; }

}  // namespace

void pack_bools(const std::byte* in, std::byte* out, std::size_t count, BitOrder order) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) out[i / 8] = ordered(pack_eight(in + i), order);
  if (i == count) return;
  std::array<std::byte, 8> last{};
  std::memcpy(last.data(), in + i, count - i);
  out[i / 8] = ordered(pack_eight(last.data()), order);
}

void unpack_bools(const std::byte* in, std::byte* out, std::size_t count, BitOrder order) {
  for (std::size_t i = 0; i < count; i += 8) {
    const auto packed = static_cast<std::uint8_t>(in[i / 8]);
    const std::uint64_t x = kSpread[order == BitOrder::min_first ? packed : kReversed[packed]];
    std::memcpy(out + i, &x, count - i < 8 ? count - i : 8);
  }
}

void pack_fields(const BitField& field, const std::byte* in, std::byte* out, std::size_t count) {
  const std::uint64_t mask = low_bits(field.bits);
  std::uint32_t held = 0;     // bits of the byte that is being filled, always below 8
  std::uint64_t pending = 0;  // those bits
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t x = 0;
    std::memcpy(&x, in + i * field.size_bytes, field.size_bytes);
    x = (x >> field.first_bit) & mask;
    std::uint32_t left = field.bits;
    while (left > 0) {
      const std::uint32_t take = left < 8 - held ? left : 8 - held;
      pending |= (x & low_bits(take)) << held;
      x >>= take;
      left -= take;
      held += take;
      if (held < 8) break;
      *out++ = static_cast<std::byte>(pending);
      held = 0;
      pending = 0;
    }
  }
  if (held > 0) *out = static_cast<std::byte>(pending);
}

void unpack_fields(const BitField& field, const std::byte* in, std::byte* out, std::size_t count) {
  const std::uint32_t above = 64 - field.bits;
  std::uint32_t used = 0;  // bits of *in that are taken already
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t x = 0;
    for (std::uint32_t have = 0; have < field.bits;) {
      const std::uint32_t take = field.bits - have < 8 - used ? field.bits - have : 8 - used;
      x |= ((static_cast<std::uint64_t>(*in) >> used) & low_bits(take)) << have;
      have += take;
      used += take;
      if (used == 8) {
        ++in;
        used = 0;
      }
    }
    if (field.sign_extend) x = static_cast<std::uint64_t>(static_cast<std::int64_t>(x << above) >> above);
    x <<= field.first_bit;
    std::memcpy(out + i * field.size_bytes, &x, field.size_bytes);
  }
}

}  // namespace penstock
