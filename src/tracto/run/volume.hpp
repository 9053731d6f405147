// A diffusion volume in memory.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "exec/job.hpp"
#include "penstock/dataset.hpp"
#include "penstock/options.hpp"
#include "tracto/file/tractogram.hpp"

namespace penstock::tracto {

/// float32, all volumes of a voxel beside each other; voxels with x fastest.
struct Volume {
  std::array<std::uint64_t, 3> dims = {};
  std::uint64_t volumes = 0;
  Affine world_from_voxel;
  std::vector<float> data;  ///< (z, y, x, volumes)
  std::string path_taken;   ///< for the report
  std::uint64_t stored_bytes = 0;
  [[nodiscard]] std::uint64_t voxels() const { return dims[0] * dims[1] * dims[2]; }
  [[nodiscard]] std::array<double, 3> voxel_size_mm() const;
};

/// NIfTI (.nii, .nii.gz) or an array of penstock: shape (x, y, z, volumes).  `scl_slope` and `scl_inter` are applied.
/// Errors: not_found, invalid_metadata, corrupt_data, unsupported (data type), out_of_memory; naming the file.
Result<Volume> load_volume(const std::string& path, const Options& options);

/// A map of one number for each voxel of `of`, (z, y, x): shape (x, y, z) or (x, y, z, 1).
/// Errors: also invalid_argument (another shape or transformation than that of `of`).
Result<std::vector<float>> load_map(const std::string& path, const Volume& of, const Options& options);

/// Extents and transformation of an image of 3 or more dimensions.  Errors: as load_volume.
Result<ImageGrid> image_grid(const std::string& path);

/// Beside NAME.nii.gz, NAME.nii or NAME: NAME.bval, NAME.bvec; or NAME.bvals, NAME.bvecs where those are there.
std::array<std::string, 2> gradient_files(const std::string& volume);

}  // namespace penstock::tracto
