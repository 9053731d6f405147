// The field that is tracked, from what is fitted to the voxels.
#pragma once
#include "tracto/run/chunk.hpp"
#include "tracto/run/prepare.hpp"

namespace penstock::tracto {

/// Fills `field` for how.method: of the voxels whose `stop` is above how.stop_below, of the bootstrap also their
/// neighbours.  field.stop becomes `stop`, field.seed_list those voxels.  `fit`: unused by the bootstrap.
/// Errors: invalid_argument (there is no such voxel; a shell that the bootstrap does not take), out_of_memory,
/// cancelled.
Status make_field(Job& job, const Volume& volume, const Gradients& gradients, const ModelPlan& plan,
                  const VoxelFit& fit, const TrackOptions& how, std::vector<float> stop, HostField& field);

}  // namespace penstock::tracto
