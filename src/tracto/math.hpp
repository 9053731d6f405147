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

struct Vec3 {
  float x, y, z;
};
PENSTOCK_HD float dot(const Vec3& a, const Vec3& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
PENSTOCK_HD Vec3 negated(const Vec3& a) { return {-a.x, -a.y, -a.z}; }

}  // namespace penstock::tracto
