// Random numbers that depend on a seed and a place only, and noise that is smooth in space.
#pragma once
#include <cmath>
#include <cstdint>

namespace penstock::oct {

/// 64 bits that look random, of any number (the finaliser of splitmix64).
constexpr std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}
constexpr std::uint64_t mixed(std::uint64_t seed, std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0) {
  return mixed(mixed(mixed(mixed(seed) ^ a) ^ b) ^ c);
}
/// In [0, 1).
constexpr double unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

/// Random values at the corners of a lattice, smooth between them, in [0, 1).  z, y, x: in cells.
inline double smooth_noise(std::uint64_t seed, double z, double y, double x) {
  const double fz = std::floor(z), fy = std::floor(y), fx = std::floor(x);
  const auto iz = static_cast<std::int64_t>(fz), iy = static_cast<std::int64_t>(fy), ix = static_cast<std::int64_t>(fx);
  const auto ease = [](double t) { return t * t * (3 - 2 * t); };
  const double wz = ease(z - fz), wy = ease(y - fy), wx = ease(x - fx);
  const auto at = [&](std::int64_t k, std::int64_t j, std::int64_t i) {
    return unit(mixed(seed ^ static_cast<std::uint64_t>(k) * 0x9E3779B97F4A7C15u ^
                      static_cast<std::uint64_t>(j) * 0xC2B2AE3D27D4EB4Fu ^
                      static_cast<std::uint64_t>(i) * 0x165667B19E3779F9u));
  };
  const auto line = [&](std::int64_t k, std::int64_t j) { return at(k, j, ix) * (1 - wx) + at(k, j, ix + 1) * wx; };
  const auto plane = [&](std::int64_t k) { return line(k, iy) * (1 - wy) + line(k, iy + 1) * wy; };
  return plane(iz) * (1 - wz) + plane(iz + 1) * wz;
}

/// Speckle: a gamma variable of shape 8 and mean 1.
inline double speckle(std::uint64_t seed, std::uint64_t place) {
  double product = 1;
  std::uint64_t bits = mixed(seed, place);
  for (int k = 0; k < 8; ++k) {
    if (k == 4) bits = mixed(bits);
    product *= (static_cast<double>(bits & 0xFFFF) + 0.5) / 65536;
    bits >>= 16;
  }
  return -std::log(product) / 8;
}

}  // namespace penstock::oct
