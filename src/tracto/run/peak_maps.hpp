// Images of peaks: x, y and z of each, as long as the amplitude is large, strongest first; then zeros.
#pragma once
#include <span>
#include <vector>

#include "tracto/run/field.hpp"

namespace penstock::tracto {

inline constexpr std::uint32_t kMapPeaks = 5;  ///< of a voxel

/// The peaks of field.pmf, whose rows are `voxels` of `all`, into `out` (3 kMapPeaks, all), zeros before: one component
/// after the other, in the axes of the voxels.
Status put_peaks(Job& job, const HostField& field, std::span<const std::uint32_t> voxels, std::uint64_t all,
                 std::span<float> out);

/// The amplitudes of field.seed_list's voxels from their peaks in `image` (3 numbers for each): that of a peak in the
/// direction which is nearest to it, 0 in all others.
Status field_of_peaks(Job& job, const Volume& image, HostField& field);

}  // namespace penstock::tracto
