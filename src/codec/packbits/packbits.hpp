// The codecs "packbits" (array->bytes, any number of bits) and "numcodecs.packbits" (bool, an array->array filter).
#pragma once
#include <bit>

#include "codec/entry.hpp"
#include "codec/packbits/kernel.hpp"

namespace penstock {
extern const CodecEntry kPackbitsCodec;
extern const CodecEntry kNumcodecsPackbitsCodec;

/// Packs `count` bools (any byte but 0 is true); the bits that fill up the last byte are 0 (packbits/cpu.cpp).
void pack_bools(const std::byte* in, std::byte* out, std::size_t count, BitOrder order);
void unpack_bools(const std::byte* in, std::byte* out, std::size_t count, BitOrder order);

/// Packs the field of `count` words, least bit first; the bits that fill up the last byte are 0.
void pack_fields(const BitField& field, const std::byte* in, std::byte* out, std::size_t count);
/// Puts the fields back at first_bit; the bits below are 0, those above are 0 or the field's highest bit.
void unpack_fields(const BitField& field, const std::byte* in, std::byte* out, std::size_t count);
}  // namespace penstock
