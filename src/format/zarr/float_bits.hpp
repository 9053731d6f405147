// IEEE-like binary floats by their bits: float16, bfloat16, float32, float64.
#pragma once
#include <cstdint>
#include <optional>

#include "penstock/dtype.hpp"

namespace penstock {

/// Bit layout of a float format.
struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
  [[nodiscard]] int bits() const { return 1 + exponent_bits + mantissa_bits; }
};
/// Format of a floating or bfloat type, or of one part of a complex type.
FloatFormat float_format(const DType& dtype);

/// The bits of the nearest value (ties to even).  nullopt: a finite value beyond the largest one.
std::optional<std::uint64_t> float_to_bits(double value, FloatFormat format);
/// Exact.
double float_from_bits(std::uint64_t bits, FloatFormat format);
/// The quiet NaN that "NaN" stands for: sign 0, only the highest bit of the mantissa set.
std::uint64_t canonical_nan(FloatFormat format);

}  // namespace penstock
