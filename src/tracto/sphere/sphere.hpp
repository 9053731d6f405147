// Directions: points of a half sphere that stand for themselves and their antipodes.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "penstock/error.hpp"

namespace penstock {
class Job;
}

namespace penstock::tracto {

using Direction = std::array<double, 3>;

/// Directions, and which are neighbours: v and w, or v and -w, share an edge of the hull of all and their antipodes.
struct Sphere {
  std::vector<Direction> vertices;
  std::vector<std::vector<std::uint16_t>> neighbours;
};

inline constexpr std::uint32_t kMaxDirections = 1024;
inline constexpr std::uint32_t kMaxNeighbours = 16;

/// `count` directions that repel each other and their antipodes (Thomson's problem, from a spiral): evenly spread.
/// Made of additions, multiplications, divisions and roots only: the same on every machine, on whatever number of
/// threads.  `job`: whose threads work on it; null: the calling one.
/// Errors: invalid_argument (below 16, over 1024), out_of_memory, cancelled.
Result<Sphere> repulsion_sphere(std::uint32_t count, Job* job = nullptr);
/// An icosahedron whose edges are cut into `parts`: 5 parts^2 + 1 directions.
std::vector<Direction> geodesic_directions(std::uint32_t parts);
/// The neighbours of directions by the hull.  Errors: invalid_argument (more than kMaxNeighbours of one).
Result<Sphere> with_neighbours(std::vector<Direction> vertices, Job* job = nullptr);

}  // namespace penstock::tracto
