// Where seeds lie: a seed's place follows from its number alone.
#pragma once
#include "tracto/math.hpp"
#include "tracto/random.hpp"

namespace penstock::tracto {

/// Which places the numbers of seeds stand for.
enum class SeedMode : std::uint32_t {
  random_voxels,  ///< in a random voxel of the list
  per_voxel,      ///< `per_voxel` in each voxel of the list, one voxel after the other, at random places
  grid,           ///< the same, `along` ^ 3 in each, evenly
  points,         ///< the list is places: the bits of x, y and z in voxels
};
struct SeedParams {
  SeedMode mode;
  std::uint32_t dims[3];
  std::uint32_t count;  ///< voxels or places of the list
  std::uint32_t per_voxel;
  std::uint32_t along;
  std::uint32_t random_seed[2];
};

/// The point of seed `number`, within half a voxel of the centre of one of `list`'s voxels ((z, y, x) as one number),
/// or one of its places.
PENSTOCK_HD Vec3 seed_point(const SeedParams& s, const std::uint32_t* list, std::uint64_t number) {
  if (s.mode == SeedMode::points) {
    const std::uint32_t* p = list + 3 * (number % s.count);
    return {bits_float(p[0]), bits_float(p[1]), bits_float(p[2])};
  }
  const DrawKey key = {{s.random_seed[0], s.random_seed[1]}, number, 0, kSeedHalf};
  const Philox random = draw(key, 0, 0);
  const std::uint32_t chosen = s.mode == SeedMode::random_voxels
                                   ? mul_high(random.word[3], s.count)
                                   : static_cast<std::uint32_t>(number / s.per_voxel % s.count);
  float aside[3] = {unit_float(random.word[0]), unit_float(random.word[1]), unit_float(random.word[2])};
  if (s.mode == SeedMode::grid) {
    auto place = static_cast<std::uint32_t>(number % s.per_voxel);
    for (float& along : aside) {
      along = (static_cast<float>(place % s.along) + 0.5f) / static_cast<float>(s.along);
      place /= s.along;
    }
  }
  const std::uint32_t voxel = list[chosen], x = voxel % s.dims[0], rest = voxel / s.dims[0];
  return {static_cast<float>(x) + (aside[0] - 0.5f), static_cast<float>(rest % s.dims[1]) + (aside[1] - 0.5f),
          static_cast<float>(rest / s.dims[1]) + (aside[2] - 0.5f)};
}

}  // namespace penstock::tracto
