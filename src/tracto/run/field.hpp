// The field that is tracked, from what is fitted to the voxels.
#pragma once
#include "tracto/run/chunk.hpp"
#include "tracto/run/prepare.hpp"

namespace penstock::tracto {

/// Fills `field` for how.method: of the voxels whose `stop` is above how.stop_below, of the bootstrap also their
/// neighbours.  field.stop becomes `stop`, field.seed_list those voxels.  `tables`: unused by the bootstrap.
/// Errors: invalid_argument (there is no such voxel; a shell that the bootstrap does not take), out_of_memory,
/// cancelled.
Status make_field(Job& job, Fitter& fitter, const DwiData& dwi, const ModelPlan& plan, FitTables tables,
                  const TrackOptions& how, std::vector<float> stop, HostField& field);

/// The directions of the half sphere, and what is taken for a peak of amplitudes along them.
void describe_directions(const TrackOptions& how, const Sphere& sphere, HostField& field);

/// What parallel transport looks up: the nearest direction for each cell, and the disc of curvatures.
void describe_cells(const Sphere& sphere, HostField& field);

}  // namespace penstock::tracto
