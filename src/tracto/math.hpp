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

struct SinCos {
  float sine, cosine;
};
/// Of an angle below 1000 (radians).  Within 2e-7.
PENSTOCK_HD SinCos sin_cos(float angle) {
  const std::int32_t quarter = floor_int(angle * 0.636619772f + 0.5f);
  const auto q = static_cast<float>(quarter);
  const float r = angle - q * 1.5703125f - q * 4.83751297e-4f - q * 7.54978995e-8f, s = r * r;
  const float sine = r * (1 - s / 6 * (1 - s / 20 * (1 - s / 42 * (1 - s / 72))));
  const float cosine = 1 - s / 2 * (1 - s / 12 * (1 - s / 30 * (1 - s / 56 * (1 - s / 90))));
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
