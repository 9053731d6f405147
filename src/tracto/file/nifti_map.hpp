// Maps of voxels as NIfTI-1 files.
#pragma once
#include <array>
#include <span>
#include <string_view>

#include "penstock/dataset.hpp"
#include "penstock/store.hpp"

namespace penstock::tracto {

/// Writes "NAME.nii.gz": float32, `values` (components, z, y, x), one component after the other.
/// Errors: no_space, permission_denied, io_error, out_of_memory.
Status write_map(Store& store, std::string_view name, const std::array<std::uint64_t, 3>& dims,
                 std::uint64_t components, const Affine& world_from_voxel, std::span<const float> values);

}  // namespace penstock::tracto
