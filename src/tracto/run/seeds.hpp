// Where seeds lie: a seed's place follows from its number alone.
#pragma once
#include "tracto/math.hpp"
#include "tracto/random.hpp"

namespace penstock::tracto {

/// `per_voxel` 0: a random voxel of the list for each seed, else that many seeds in each, one voxel after the other.
struct SeedParams {
  std::uint32_t dims[3];
  std::uint32_t voxels;  ///< of the list
  std::uint32_t per_voxel;
  std::uint32_t random_seed[2];
};

/// The point of seed `number`, within half a voxel of the centre of one of `list`'s voxels ((z, y, x) as one number).
PENSTOCK_HD Vec3 seed_point(const SeedParams& s, const std::uint32_t* list, std::uint64_t number) {
  const DrawKey key = {{s.random_seed[0], s.random_seed[1]}, number, 0, kSeedHalf};
  const Philox random = draw(key, 0, 0);
  const std::uint32_t chosen = s.per_voxel == 0 ? mul_high(random.word[3], s.voxels)
                                                : static_cast<std::uint32_t>(number / s.per_voxel % s.voxels);
  const std::uint32_t voxel = list[chosen], x = voxel % s.dims[0], rest = voxel / s.dims[0];
  return {static_cast<float>(x) + (unit_float(random.word[0]) - 0.5f),
          static_cast<float>(rest % s.dims[1]) + (unit_float(random.word[1]) - 0.5f),
          static_cast<float>(rest / s.dims[1]) + (unit_float(random.word[2]) - 0.5f)};
}

}  // namespace penstock::tracto
