// The codec "numcodecs.quantize": floats rounded to a number of decimal digits.
#pragma once
#include "codec/astype/filter.hpp"
#include "codec/entry.hpp"

namespace penstock {
extern const CodecEntry kQuantizeCodec;

/// 2^bits such that a step of 2^-bits keeps `digits` decimal digits, by numcodecs' formula; 0 or infinity when that is
/// no float64.
double quantize_scale(int digits);
/// out = around(scale * in) / scale in `decoded` arithmetic, stored as `encoded` (quantize/cpu.cpp).
void quantize(Number decoded, Number encoded, double scale, const std::byte* in, std::byte* out, std::size_t count);
}  // namespace penstock
