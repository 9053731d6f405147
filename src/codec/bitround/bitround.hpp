// The codec "bitround": floats with a shorter mantissa.
#pragma once
#include "codec/astype/number.hpp"
#include "codec/entry.hpp"

namespace penstock {
extern const CodecEntry kBitroundCodec;

/// Bits of the mantissa of one float of `size_bytes`; bfloat16 has 7.
std::uint32_t mantissa_bits(const DType& dtype);
/// Rounds `count` floats of `size_bytes` with `mantissa` bits to fewer, `keepbits`, halves to even (bitround/cpu.cpp).
void bitround(std::uint32_t size_bytes, std::uint32_t mantissa, std::uint32_t keepbits, const std::byte* in,
              std::byte* out, std::size_t count);
}  // namespace penstock
