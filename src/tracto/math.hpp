// Arithmetic that gives the same bits on every processor.  No libm; no contraction: the host is compiled with
// -ffp-contract=off, the kernels with --fmad=false.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

#include "device/portable.hpp"

namespace penstock::tracto {

PENSTOCK_HD std::uint32_t float_bits(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
PENSTOCK_HD float bits_float(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
/// Largest whole number that is not above; |x| < 2^31.
PENSTOCK_HD std::int32_t floor_int(float x) {
  const auto i = static_cast<std::int32_t>(x);
  return static_cast<float>(i) > x ? i - 1 : i;
}
PENSTOCK_HD float absolute(float x) { return bits_float(float_bits(x) & 0x7fffffffu); }

/// Natural logarithm; `x` positive and not denormal.  Within 2e-7 of its value, or of 1 where that is less.
PENSTOCK_HD float log_of(float x) {
  constexpr std::uint32_t kRootHalf = 0x3f3504f3u;  // the fraction is from there to the root of 2
  const std::int32_t exponent = static_cast<std::int32_t>(float_bits(x) - kRootHalf) >> 23;
  const float m = bits_float(float_bits(x) - (static_cast<std::uint32_t>(exponent) << 23));
  const float f = (m - 1) / (m + 1), s = f * f;
  const float series = 1 + s * (1.0f / 3 + s * (1.0f / 5 + s * (1.0f / 7 + s * (1.0f / 9))));
  return static_cast<float>(exponent) * 0.693147181f + 2 * f * series;
}

PENSTOCK_HD std::uint64_t double_bits(double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
PENSTOCK_HD double bits_double(std::uint64_t bits) {
  double value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
PENSTOCK_HD bool is_finite(double x) { return (double_bits(x) >> 52 & 0x7ff) != 0x7ff; }

/// Natural logarithm; `x` positive and not denormal.  Within 4e-16 of its value, or of 1 where that is less.
PENSTOCK_HD double log_of(double x) {
  constexpr std::uint64_t kRootHalf = 0x3fe6a09e667f3bcdu;
  const auto exponent = static_cast<std::int64_t>(double_bits(x) - kRootHalf) >> 52;
  const double m = bits_double(double_bits(x) - (static_cast<std::uint64_t>(exponent) << 52));
  const double f = (m - 1) / (m + 1), s = f * f;
  const double high = 1.0 / 13 + s * (1.0 / 15 + s * (1.0 / 17 + s * (1.0 / 19 + s * (1.0 / 21))));
  const double series = s * (1.0 / 3 + s * (1.0 / 5 + s * (1.0 / 7 + s * (1.0 / 9 + s * (1.0 / 11 + s * high)))));
  return static_cast<double>(exponent) * 0.69314718055994531 + (2 * f + 2 * f * series);
}

/// e to the power of x, which counts as no further than 700 from 0.  Within 1e-15 of its value.
PENSTOCK_HD double exp_of(double x) {
  const double inside = x > 700 ? 700 : x > -700 ? x : -700;  // NaN too
  const double scaled = inside * 1.4426950408889634;
  const auto power = static_cast<std::int32_t>(scaled + (scaled < 0 ? -0.5 : 0.5));
  const auto k = static_cast<double>(power);
  const double r = inside - k * 0.693147180369123816490 - k * 1.90821492927058770002e-10;
  double sum = 1;
  PENSTOCK_UNROLL
  for (int i = 13; i > 0; --i) sum = 1 + sum * r / static_cast<double>(i);
  return sum * bits_double(static_cast<std::uint64_t>(power + 1023) << 52);
}

struct SinCos {
  float sine, cosine;
};
/// Of an angle below 1000 (radians).  Within 2e-7.
PENSTOCK_HD SinCos sin_cos(float angle) {
  const std::int32_t quarter = floor_int(angle * 0.636619772f + 0.5f);
  const auto q = static_cast<float>(quarter);
  const float r = angle - q * 1.5703125f - q * 4.83751297e-4f - q * 7.54978995e-8f, s = r * r;
  const float sine = r * (1 - s * (1.0f / 6) * (1 - s * (1.0f / 20) * (1 - s * (1.0f / 42) * (1 - s * (1.0f / 72)))));
  const float inner = 1 - s * (1.0f / 30) * (1 - s * (1.0f / 56) * (1 - s * (1.0f / 90)));
  const float cosine = 1 - s * 0.5f * (1 - s * (1.0f / 12) * inner);
  switch (quarter & 3) {
    case 0: return {sine, cosine};
    case 1: return {cosine, -sine};
    case 2: return {-sine, -cosine};
    default: return {-cosine, sine};
  }
}

struct Vec3 {
  float x, y, z;
};
PENSTOCK_HD float dot(const Vec3& a, const Vec3& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
PENSTOCK_HD Vec3 negated(const Vec3& a) { return {-a.x, -a.y, -a.z}; }
PENSTOCK_HD Vec3 cross(const Vec3& a, const Vec3& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
PENSTOCK_HD Vec3 scaled(const Vec3& a, float by) { return {a.x * by, a.y * by, a.z * by}; }
PENSTOCK_HD Vec3 sum(const Vec3& a, const Vec3& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
PENSTOCK_HD Vec3 normalized(const Vec3& a) { return scaled(a, 1 / std::sqrt(dot(a, a))); }

}  // namespace penstock::tracto
