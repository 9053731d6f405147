// Where the elements of an array lie in the world, as its dataset and the attributes of it say.
#pragma once
#include "penstock/dataset.hpp"
#include "penstock/region.hpp"

namespace penstock {

/// Of an array that holds the elements `part` of the dataset's.  Errors: invalid_metadata (attributes that are no
/// JSON).
Status move_position(Dataset& dataset, const Region& part);
/// Its elements lie elsewhere now, and it is not known where.
Status forget_position(Dataset& dataset);
/// World_from_voxel as an attribute, three rows of four numbers, for a format that has no other place for it.
Status tell_position(Dataset& dataset);

}  // namespace penstock
