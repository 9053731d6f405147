#include "format/zarr/float_bits.hpp"

#include <cmath>
#include <limits>

namespace penstock {
namespace {

std::uint64_t exponent_ones(FloatFormat f) { return (std::uint64_t{1} << f.exponent_bits) - 1; }

}  // namespace

FloatFormat float_format(const DType& dtype) {
  if (dtype.kind == Kind::bfloat) return {8, 7};
  switch (dtype.kind == Kind::complex ? dtype.size_bytes / 2 : dtype.size_bytes) {
    case 2: return {5, 10};
    case 4: return {8, 23};
    default: return {11, 52};
  }
}

std::uint64_t canonical_nan(FloatFormat f) {
  return exponent_ones(f) << f.mantissa_bits | std::uint64_t{1} << (f.mantissa_bits - 1);
}

std::optional<std::uint64_t> float_to_bits(double value, FloatFormat f) {
  if (std::isnan(value)) return canonical_nan(f);
  const std::uint64_t sign = std::signbit(value) ? std::uint64_t{1} << (f.bits() - 1) : 0;
  if (std::isinf(value)) return sign | exponent_ones(f) << f.mantissa_bits;
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  int exponent = 0;
  std::frexp(value, &exponent);  // |value| in [2^(exponent-1), 2^exponent)
  // The lowest exponent holds both the subnormal and the smallest normal numbers: rounding up carries over by itself.
  const int biased = value == 0 ? 1 : std::max(exponent - 1 + bias, 1);
  const double scaled = std::ldexp(std::abs(value), f.mantissa_bits - (biased - bias));
  const auto mantissa = static_cast<std::uint64_t>(std::nearbyint(scaled));
  const std::uint64_t magnitude = (static_cast<std::uint64_t>(biased - 1) << f.mantissa_bits) + mantissa;
  if (magnitude >= exponent_ones(f) << f.mantissa_bits) return std::nullopt;
  return sign | magnitude;
}

double float_from_bits(std::uint64_t bits, FloatFormat f) {
  const bool negative = (bits >> (f.bits() - 1) & 1) != 0;
  const std::uint64_t exponent = bits >> f.mantissa_bits & exponent_ones(f);
  const std::uint64_t mantissa = bits & ((std::uint64_t{1} << f.mantissa_bits) - 1);
  double value = 0;
  if (exponent == exponent_ones(f)) {
    value = mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  } else {
    const int bias = (1 << (f.exponent_bits - 1)) - 1;
    const std::uint64_t whole = exponent == 0 ? mantissa : mantissa | std::uint64_t{1} << f.mantissa_bits;
    const int power = (exponent == 0 ? 1 : static_cast<int>(exponent)) - bias - f.mantissa_bits;
    value = std::ldexp(static_cast<double>(whole), power);
  }
  return negative ? -value : value;
}

}  // namespace penstock
