// A frame that moves along arcs of constant curvature (parallel transport; Aydogan and Shi 2021).
#pragma once
#include "tracto/math.hpp"

namespace penstock::tracto {

/// Tangent and two normals, orthonormal; millimetres along the axes of the voxels.
struct Frame {
  Vec3 t, n1, n2;
};

/// Curvatures k1 (towards n1) and k2 (towards n2): their size, one over it (0: straight), their parts of it.
struct Curve {
  float k, inverse, a, b;
};
PENSTOCK_HD Curve curve_of(float k1, float k2) {
  const float k = std::sqrt(k1 * k1 + k2 * k2), inverse = k < 1e-4f ? 0 : 1 / k;
  return {k, inverse, k1 * inverse, k2 * inverse};
}

/// An arc of a length: displacement, new tangent and new second normal as parts of t, n1 and n2.
struct Arc {
  Vec3 moved, t, n2;
};
PENSTOCK_HD Arc arc_along(const Curve& c, float length) {
  if (c.inverse == 0) return {{length, 0, 0}, {1, 0, 0}, {0, 0, 1}};
  const SinCos half = sin_cos(0.5f * c.k * length);  // 1 - cos by the half angle keeps its digits
  const float sine = 2 * half.sine * half.cosine, versine = 2 * half.sine * half.sine, cosine = 1 - versine;
  const float aside = versine * c.inverse;
  return {{sine * c.inverse, c.a * aside, c.b * aside},
          {cosine, c.a * sine, c.b * sine},
          {-c.b * sine, -c.a * c.b * versine, c.a * c.a + c.b * c.b * cosine}};
}

PENSTOCK_HD Vec3 of_frame(const Frame& f, const Vec3& parts) {
  return sum(sum(scaled(f.t, parts.x), scaled(f.n1, parts.y)), scaled(f.n2, parts.z));
}

/// Moves a frame; the displacement.
PENSTOCK_HD Vec3 move_along(Frame& f, const Arc& arc) {
  const Vec3 moved = of_frame(f, arc.moved), n2 = of_frame(f, arc.n2);
  f.t = normalized(of_frame(f, arc.t));
  f.n1 = normalized(cross(n2, f.t));
  f.n2 = cross(f.t, f.n1);
  return moved;
}

/// A frame about `t` (unit) whose first normal is turned by `angle` from one that follows from `t`.
PENSTOCK_HD Frame frame_about(const Vec3& t, float angle) {
  const float x = absolute(t.x), y = absolute(t.y), z = absolute(t.z);
  const Vec3 other = x <= y && x <= z ? Vec3{1, 0, 0} : y <= z ? Vec3{0, 1, 0} : Vec3{0, 0, 1};
  const Vec3 a = normalized(cross(t, other)), b = cross(t, a);
  const SinCos turn = sin_cos(angle);
  Frame f = {t, sum(scaled(a, turn.cosine), scaled(b, turn.sine)), {}};
  f.n2 = cross(t, f.n1);
  return f;
}

}  // namespace penstock::tracto
