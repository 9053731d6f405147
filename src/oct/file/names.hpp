// Names of files: mosaic_grid_z00_fixed.ome.zarr, slice_z00_crop.ome.zarr.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "penstock/error.hpp"

namespace penstock::oct {

inline constexpr std::string_view kVolumeEnding = ".ome.zarr";

/// "a/slice_z00_crop" of "a/slice_z00_crop.ome.zarr"; also takes .zarr, .npy and .png off.
std::string stem_of(std::string_view path);
/// "slice_z03": prefix ("slice", "mosaic_grid"), and the slice with two digits at least.
std::string slice_name(std::string_view prefix, std::uint64_t slice);
/// The number behind the last "_z" of the last part of a path; nullopt: there is none.
std::optional<std::uint64_t> slice_of(std::string_view path);
/// Where the metrics of a step go whose output is `out`: beside a volume, .npy or .png file, else into the folder.
std::string metrics_path(const std::string& out, std::string_view step);

/// Paths of `folder`/`prefix`_zNN_`process`.ome.zarr by slice.  Errors: not_found (no folder, or none of them there),
/// invalid_argument (two of one slice).
Result<std::map<std::uint64_t, std::string>> slices_in(const std::string& folder, std::string_view prefix,
                                                       std::string_view process);

}  // namespace penstock::oct
