// Conversion of floats on every device with the bits that NumPy 2 gives on x86-64.
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "device/portable.hpp"

namespace penstock {

template <class T>
using FloatBits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class T>
PENSTOCK_HD FloatBits<T> bits_of_float(T value) {
  FloatBits<T> bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
template <class T>
PENSTOCK_HD T float_of_bits(FloatBits<T> bits) {
  T value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <class T>
PENSTOCK_HD bool is_nan(T x) {
  constexpr FloatBits<T> kInfinite = static_cast<FloatBits<T>>(sizeof(T) == 4 ? 0x7F800000u : 0x7FF0000000000000u);
  return (bits_of_float(x) << 1) > (kInfinite << 1);
}

/// `result` of an operation on a and b, but a NaN is the first operand that is one, made quiet; without one, the
/// negative NaN.
template <class T>
PENSTOCK_HD T with_nan_of(T result, T a, T b) {
  constexpr FloatBits<T> kQuiet = FloatBits<T>{1} << (sizeof(T) == 4 ? 22 : 51);
  constexpr FloatBits<T> kNan = static_cast<FloatBits<T>>(sizeof(T) == 4 ? 0xFFC00000u : 0xFFF8000000000000u);
  if (!is_nan(result)) return result;
  if (is_nan(a)) return float_of_bits<T>(bits_of_float(a) | kQuiet);
  if (is_nan(b)) return float_of_bits<T>(bits_of_float(b) | kQuiet);
  return float_of_bits<T>(kNan);
}

/// Between float and double; of a NaN the sign and what fits of the payload are kept, and it is made quiet.
template <class To, class From>
PENSTOCK_HD To cast_float(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else {
    if (!is_nan(x)) return static_cast<To>(x);
    const FloatBits<From> bits = bits_of_float(x);
    if constexpr (sizeof(To) == 8)
      return float_of_bits<To>(static_cast<std::uint64_t>(bits >> 31) << 63 | std::uint64_t{0x7FF8} << 48 |
                               static_cast<std::uint64_t>(bits & 0x7FFFFF) << 29);
    else
      return float_of_bits<To>(static_cast<std::uint32_t>(bits >> 63) << 31 | 0x7FC00000u |
                               static_cast<std::uint32_t>(bits >> 29 & 0x7FFFFF));
  }
}

/// The float16 nearest to x, halves to the even one.
PENSTOCK_HD std::uint16_t half_of(double x) {
  const std::uint64_t bits = bits_of_float(x), magnitude = bits & ~(std::uint64_t{1} << 63);
  const auto sign = static_cast<std::uint16_t>(bits >> 48 & 0x8000);
  const auto exponent = static_cast<std::uint32_t>(magnitude >> 52);
  constexpr std::uint32_t kOne = 1023, kMinNormal = kOne - 14, kInfinite = 2047;
  if (exponent == kInfinite && (magnitude << 12) != 0)  // NaN
    return static_cast<std::uint16_t>(sign | 0x7E00 | (magnitude >> 42 & 0x3FF));
  if (exponent >= kOne + 16) return static_cast<std::uint16_t>(sign | 0x7C00);
  // The number in units of the last place of the result, times 2^shift.  Rounding up may carry into the exponent, to
  // infinity at last; both are right.
  std::uint64_t value = magnitude - (static_cast<std::uint64_t>(kMinNormal - 1) << 52);
  std::uint32_t shift = 42;
  if (exponent < kMinNormal) {
    shift += kMinNormal - exponent;
    if (shift >= 54) return sign;
    value = (magnitude & 0xFFFFFFFFFFFFF) | std::uint64_t{1} << 52;
  }
  value += (std::uint64_t{1} << (shift - 1)) - 1 + (value >> shift & 1);
  return static_cast<std::uint16_t>(sign | value >> shift);
}

/// Exact; a NaN is made quiet.
PENSTOCK_HD float float_of_half(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16, exponent = half >> 10 & 31,
                      fraction = half & 0x3FF;
  if (exponent == 31) {
    const std::uint32_t quiet = fraction == 0 ? 0 : std::uint32_t{1} << 22;
    return float_of_bits<float>(sign | 0x7F800000 | quiet | fraction << 13);
  }
  if (exponent != 0) return float_of_bits<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
  return sign == 0 ? magnitude : -magnitude;
}

template <class Int>
inline constexpr auto kHighestBit = std::make_unsigned_t<Int>{std::make_unsigned_t<Int>{1} << (8 * sizeof(Int) - 1)};

/// Toward zero; what does not fit, and NaN, become the least value.
template <class Int, class F>
PENSTOCK_HD Int to_signed(F x) {
  constexpr auto kLeast = static_cast<Int>(kHighestBit<Int>);
  constexpr F kBound = static_cast<F>(kLeast);
  return x >= kBound && x < -kBound ? static_cast<Int>(x) : kLeast;
}

/// As to_signed on the lower half of the unsigned range and on its upper half moved down.
template <class Int, class F>
PENSTOCK_HD std::make_unsigned_t<Int> to_unsigned(F x) {
  using Unsigned = std::make_unsigned_t<Int>;
  constexpr F kHalf = static_cast<F>(kHighestBit<Int>);
  if (x >= kHalf) return static_cast<Unsigned>(to_signed<Int>(x - kHalf)) ^ kHighestBit<Int>;
  return static_cast<Unsigned>(to_signed<Int>(x));
}

}  // namespace penstock
