// Which seeds there are.
#pragma once
#include "tracto/run/chunk.hpp"
#include "tracto/run/volume.hpp"

namespace penstock::tracto {

/// Sets field.seed_params and, of an image or a file, field.seed_list, which held the voxels that were fitted.  Their
/// number.  Errors: invalid_argument (none, an image of another grid), invalid_metadata (a file), those of reading.
Result<std::uint64_t> place_seeds(const Volume& volume, const TrackOptions& how, const Options& options,
                                  HostField& field);

}  // namespace penstock::tracto
