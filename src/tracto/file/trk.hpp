// TRK version 2, the track files of TrackVis.  http://trackvis.org/docs/?subsect=fileformat
#pragma once
#include "tracto/file/tractogram.hpp"

namespace penstock::tracto {

/// Points as float32 in millimetres along the image's axes from the corner of the first voxel; seed_index and
/// length_mm as properties.  Errors: invalid_argument (more than 32767 voxels along an axis).
Result<std::unique_ptr<TractogramWriter>> begin_trk(const std::string& path, const ImageGrid& grid,
                                                    const PerStreamline& says);

/// "RAS", "LPS", ...: to where in the world each axis of the image goes.
std::array<char, 3> orientation_of(const Affine& world_from_voxel);

}  // namespace penstock::tracto
