// The nearest direction of the half sphere, by a table: the surface of a cube cut into cells, of which antipodes share
// one.  Near a border between two directions the farther one may be found, by less than a cell (1.8 degrees).
#pragma once
#include "tracto/field/pmf.hpp"

namespace penstock::tracto {

inline constexpr std::uint32_t kCellsAlong = 64;  // an edge of the cube
inline constexpr std::uint32_t kCells = 3 * kCellsAlong * kCellsAlong;

PENSTOCK_HD std::uint32_t cell_along(float tangent) {
  const std::int32_t at = floor_int((tangent + 1) * (kCellsAlong / 2));
  constexpr std::int32_t kLast = kCellsAlong - 1;
  return static_cast<std::uint32_t>(at < 0 ? 0 : at > kLast ? kLast : at);
}

/// The cell of a direction of any length but 0.
PENSTOCK_HD std::uint32_t cell_of(const Vec3& d) {
  const float x = absolute(d.x), y = absolute(d.y), z = absolute(d.z);
  std::uint32_t face = 0;
  float u = 0, v = 0, w = 0;
  if (x >= y && x >= z) {
    u = d.y, v = d.z, w = d.x;
  } else if (y >= z) {
    face = 1;
    u = d.z, v = d.x, w = d.y;
  } else {
    face = 2;
    u = d.x, v = d.y, w = d.z;
  }
  const float scale = 1 / w;  // of either sign: antipodes fall together
  return (face * kCellsAlong + cell_along(v * scale)) * kCellsAlong + cell_along(u * scale);
}

/// The direction through the middle of a cell, not of unit length.
PENSTOCK_HD Vec3 middle_of(std::uint32_t cell) {
  const std::uint32_t i = cell % kCellsAlong, rest = cell / kCellsAlong;
  const float u = (static_cast<float>(i) + 0.5f) * (2.0f / kCellsAlong) - 1;
  const float v = (static_cast<float>(rest % kCellsAlong) + 0.5f) * (2.0f / kCellsAlong) - 1;
  switch (rest / kCellsAlong) {
    case 0: return {1, u, v};
    case 1: return {v, 1, u};
    default: return {u, v, 1};
  }
}

}  // namespace penstock::tracto
