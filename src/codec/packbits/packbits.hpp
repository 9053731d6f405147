// The codecs "packbits" (array->bytes, any number of bits) and "numcodecs.packbits" (bool, an array->array filter).
#pragma once
#include <bit>

#include "codec/list.hpp"

namespace penstock {
extern const CodecEntry kPackbitsCodec;
extern const CodecEntry kNumcodecsPackbitsCodec;

/// Which elements' bits come first within a byte.
enum class BitOrder : std::uint8_t {
  least_first,  ///< the specification of "packbits"
  most_first,   ///< numpy.packbits, numcodecs
};

/// Packs `count` bools (any byte but 0 is true); the bits that fill up the last byte are 0 (packbits/cpu.cpp).
void pack_bools(const std::byte* in, std::byte* out, std::size_t count, BitOrder order);
void unpack_bools(const std::byte* in, std::byte* out, std::size_t count, BitOrder order);

/// Bits first_bit .. first_bit + bits - 1 of words of `size_bytes` (1, 2, 4, 8) bytes.
struct BitField {
  std::uint32_t size_bytes = 1;
  std::uint32_t first_bit = 0;
  std::uint32_t bits = 8;
  bool sign_extend = false;
};
/// Packs that field of `count` words, least bit first; the bits that fill up the last byte are 0.
void pack_fields(const BitField& field, const std::byte* in, std::byte* out, std::size_t count);
/// Puts the fields back at first_bit; the bits below are 0, those above are 0 or the field's highest bit.
void unpack_fields(const BitField& field, const std::byte* in, std::byte* out, std::size_t count);
}  // namespace penstock
