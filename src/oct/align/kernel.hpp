// Sums of products of the planes of two slices, over pixels, on a device.
#pragma once
#include <cstdint>

#include "device/portable.hpp"

namespace penstock::oct::align {

/// Planes on each side that one call multiplies with each other.
inline constexpr std::uint64_t kProductSide = 4;
/// Pixels of a share are added in float32, shares in double.
inline constexpr std::uint64_t kProductShares = 2048;

/// Call number ((i, j), share): planes 4 i ... of a with planes 4 j ... of b over every kProductShares-th pixel.
struct PlaneProducts {
  const float* a;  ///< (planes, pixels)
  const float* b;
  std::uint64_t planes, pixels;
  float* out;  ///< (planes, planes, kProductShares)

  [[nodiscard]] PENSTOCK_HD std::uint64_t groups() const { return (planes + kProductSide - 1) / kProductSide; }
  PENSTOCK_HD void operator()(std::uint64_t call) const {
    const std::uint64_t share = call % kProductShares, pair = call / kProductShares;
    const std::uint64_t i = pair / groups() * kProductSide, j = pair % groups() * kProductSide;
    float sum[kProductSide][kProductSide] = {};
    for (std::uint64_t p = share; p < pixels; p += kProductShares) {
      float x[kProductSide], y[kProductSide];
      PENSTOCK_UNROLL
      for (std::uint64_t k = 0; k < kProductSide; ++k) {
        x[k] = i + k < planes ? a[(i + k) * pixels + p] : 0;
        y[k] = j + k < planes ? b[(j + k) * pixels + p] : 0;
      }
      PENSTOCK_UNROLL
      for (std::uint64_t k = 0; k < kProductSide; ++k) {
        PENSTOCK_UNROLL
        for (std::uint64_t l = 0; l < kProductSide; ++l) sum[k][l] += x[k] * y[l];
      }
    }
    for (std::uint64_t k = 0; k < kProductSide && i + k < planes; ++k)
      for (std::uint64_t l = 0; l < kProductSide && j + l < planes; ++l)
        out[((i + k) * planes + j + l) * kProductShares + share] = sum[k][l];
  }
};

/// Adds shares up.
struct AddShares {
  const float* in;  ///< (count, kProductShares)
  double* out;      ///< added to
  PENSTOCK_HD void operator()(std::uint64_t i) const {
    double sum = 0;
    for (std::uint64_t s = 0; s < kProductShares; ++s) sum += static_cast<double>(in[i * kProductShares + s]);
    out[i] += sum;
  }
};

/// Sums and sums of squares of a plane: call number (plane, share), as products of it with ones and itself.
struct PlaneSums {
  const float* in;  ///< (planes, pixels)
  std::uint64_t planes, pixels;
  float *sums, *squares;  ///< (planes, kProductShares)
  PENSTOCK_HD void operator()(std::uint64_t call) const {
    const std::uint64_t share = call % kProductShares, plane = call / kProductShares;
    float sum = 0, square = 0;
    for (std::uint64_t p = share; p < pixels; p += kProductShares) {
      const float v = in[plane * pixels + p];
      sum += v;
      square += v * v;
    }
    sums[plane * kProductShares + share] = sum;
    squares[plane * kProductShares + share] = square;
  }
};

}  // namespace penstock::oct::align

#define PENSTOCK_OCT_ALIGN_JOBS(M) M(align::PlaneProducts) M(align::AddShares) M(align::PlaneSums)
