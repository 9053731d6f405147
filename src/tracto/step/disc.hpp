// The disc of curvatures (k1, k2), cut into triangles: its middle, a ring of 8, a ring of 15 at the edge.
#pragma once
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

namespace penstock::tracto {

inline constexpr std::uint32_t kDiscInner = 8, kDiscOuter = 15;
inline constexpr std::uint32_t kDiscPoints = 1 + kDiscInner + kDiscOuter;
inline constexpr std::uint32_t kDiscTriangles = 2 * kDiscInner + kDiscOuter;

/// As TrackBuffers has it: of a disc of radius 1 all x, all y, then the areas of the triangles, the largest 1.
struct Disc {
  std::vector<float> numbers;
  std::vector<std::uint16_t> triangles;
};

inline Disc make_disc() {
  constexpr double kInnerRadius = 0.5275;  // with it all triangles are about as large
  std::vector<double> x = {0}, y = {0};
  const auto ring = [&](std::uint32_t n, double radius) {
    for (std::uint32_t i = 0; i < n; ++i) {
      const double angle = 2 * std::numbers::pi * i / n;
      x.push_back(radius * std::cos(angle));
      y.push_back(radius * std::sin(angle));
    }
  };
  ring(kDiscInner, kInnerRadius);
  ring(kDiscOuter, 1);
  Disc out;
  const auto triangle = [&](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    for (const std::uint32_t corner : {a, b, c}) out.triangles.push_back(static_cast<std::uint16_t>(corner));
  };
  const auto inner = [](std::uint32_t i) { return 1 + i % kDiscInner; };
  const auto outer = [](std::uint32_t i) { return 1 + kDiscInner + i % kDiscOuter; };
  for (std::uint32_t i = 0; i < kDiscInner; ++i) triangle(0, inner(i), inner(i + 1));
  // Around between the rings: the ring that is behind goes on.
  for (std::uint32_t i = 0, o = 0; i < kDiscInner || o < kDiscOuter;) {
    const bool outside = i == kDiscInner || (o < kDiscOuter && (o + 1) * kDiscInner <= (i + 1) * kDiscOuter);
    if (outside) {
      triangle(inner(i), outer(o), outer(o + 1));
      ++o;
    } else {
      triangle(inner(i), outer(o), inner(i + 1));
      ++i;
    }
  }
  std::vector<double> areas;
  double largest = 0;
  for (std::uint32_t f = 0; f < kDiscTriangles; ++f) {
    const std::uint16_t *t = out.triangles.data() + 3 * f, a = t[0], b = t[1], c = t[2];
    areas.push_back(std::abs((x[b] - x[a]) * (y[c] - y[a]) - (x[c] - x[a]) * (y[b] - y[a])));
    largest = std::max(largest, areas.back());
  }
  for (const auto& list : {x, y})
    for (const double value : list) out.numbers.push_back(static_cast<float>(value));
  for (const double area : areas) out.numbers.push_back(static_cast<float>(area / largest));
  return out;
}

}  // namespace penstock::tracto
