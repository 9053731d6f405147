// Bits back to elements, on a device; and what both sides of packbits have in common.
#pragma once
#include <cstdint>

#include "codec/status.hpp"
#include "device/portable.hpp"

namespace penstock {

/// Which elements' bits come first within a byte.
enum class BitOrder : std::uint8_t {
  min_first,  ///< the specification of "packbits"
  max_first,  ///< numpy.packbits, numcodecs
};

/// Bits first_bit .. first_bit + bits - 1 of words of `size_bytes` (1, 2, 4, 8) bytes.
struct BitField {
  std::uint32_t size_bytes = 1;
  std::uint32_t first_bit = 0;
  std::uint32_t bits = 8;
  bool sign_extend = false;
};

/// Where the byte stands that says how many bits fill up the last byte.
enum class Padding : std::uint8_t { none, first_byte, last_byte };

/// The packed bits of a chunk: where they are, and whether the padding is what the chunk's size demands.
struct PackedBits {
  std::uint32_t bits = 1;  ///< of a word
  Padding padding = Padding::none;

  [[nodiscard]] PENSTOCK_HD std::uint64_t bytes(std::uint64_t words) const { return (words * bits + 7) / 8; }
  [[nodiscard]] PENSTOCK_HD std::uint64_t in_bytes(std::uint64_t words) const {
    return bytes(words) + (padding == Padding::none ? 0 : 1);
  }
  [[nodiscard]] PENSTOCK_HD std::uint32_t data_at() const { return padding == Padding::first_byte ? 1 : 0; }
  PENSTOCK_HD void check(const std::byte* in, std::uint64_t words, ChunkStatus& result) const {
    if (padding == Padding::none) return;
    const std::uint64_t at = padding == Padding::first_byte ? 0 : bytes(words);
    if (static_cast<std::uint64_t>(in[at]) == bytes(words) * 8 - words * bits) return;
    result.status = DecodeStatus::bad_padding;
    result.position = at;
    result.output_bytes = 0;
  }
};

/// One bit for each bool.  Unit i is the bools of byte i.
struct UnpackBools {
  PackedBits packed;
  BitOrder order;

  [[nodiscard]] PENSTOCK_HD std::uint64_t in_bytes(std::uint64_t out_bytes) const { return packed.in_bytes(out_bytes); }
  [[nodiscard]] PENSTOCK_HD std::uint64_t units(std::uint64_t out_bytes) const { return packed.bytes(out_bytes); }
  PENSTOCK_HD void check(const DecodeTask& task, ChunkStatus& result) const {
    packed.check(task.in, task.out_bytes, result);
  }
  PENSTOCK_HD void operator()(const std::uint8_t* in, std::uint8_t* out, std::uint64_t out_bytes,
                              std::uint64_t i) const {
    std::uint32_t byte = in[packed.data_at() + i];
    if (order == BitOrder::max_first) byte = reverse_bits(byte) >> 24;
    const auto spread = [](std::uint32_t four) { return four * 0x00204081u & 0x01010101u; };  // bit k to byte k
    if (out_bytes - 8 * i >= 8) {  // outputs of the chain are aligned
      store_aligned(out + 8 * i, spread(byte & 15));
      store_aligned(out + 8 * i + 4, spread(byte >> 4));
      return;
    }
    for (std::uint64_t k = 8 * i; k < out_bytes; ++k) out[k] = static_cast<std::uint8_t>(byte >> (k % 8) & 1);
  }
};

/// A field of bits for each word, least bit first.  Unit i is word i.
struct UnpackFields {
  PackedBits packed;
  BitField field;

  [[nodiscard]] PENSTOCK_HD std::uint64_t in_bytes(std::uint64_t out_bytes) const {
    return packed.in_bytes(units(out_bytes));
  }
  [[nodiscard]] PENSTOCK_HD std::uint64_t units(std::uint64_t out_bytes) const { return out_bytes / field.size_bytes; }
  PENSTOCK_HD void check(const DecodeTask& task, ChunkStatus& result) const {
    packed.check(task.in, units(task.out_bytes), result);
  }
  PENSTOCK_HD void operator()(const std::uint8_t* in, std::uint8_t* out, std::uint64_t /*out_bytes*/,
                              std::uint64_t i) const {
    const std::uint64_t first = i * field.bits;
    const std::uint8_t* const from = in + packed.data_at() + first / 8;
    const auto skip = static_cast<std::uint32_t>(first % 8);
    const std::uint32_t bytes = (skip + field.bits + 7) / 8;  // 9 at most
    std::uint64_t x = static_cast<std::uint64_t>(from[0]) >> skip;
    for (std::uint32_t k = 1; k < bytes; ++k) x |= static_cast<std::uint64_t>(from[k]) << (8 * k - skip);
    const std::uint32_t above = 64 - field.bits;
    x <<= above;
    x = field.sign_extend ? static_cast<std::uint64_t>(static_cast<std::int64_t>(x) >> above) : x >> above;
    x <<= field.first_bit;
    for (std::uint32_t k = 0; k < field.size_bytes; ++k)
      out[i * field.size_bytes + k] = static_cast<std::uint8_t>(x >> (8 * k));
  }
};

}  // namespace penstock
