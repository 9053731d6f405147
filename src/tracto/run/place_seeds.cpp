#include "tracto/run/place_seeds.hpp"

#include <fmt/format.h>

#include <Eigen/LU>
#include <cmath>

#include "core/checked.hpp"
#include "tracto/gradients/gradients.hpp"

namespace penstock::tracto {
namespace {

/// Rows of x, y, z in mm of the world, as places in voxels.
Status read_places(const Volume& volume, const std::string& path, std::vector<std::uint32_t>& list) {
  PENSTOCK_ASSIGN(const std::string text, read_text(path));
  PENSTOCK_ASSIGN_IN(const auto rows, parse_rows(text), path);
  const auto& m = volume.world_from_voxel.rows;
  Eigen::Matrix3d turn;
  Eigen::Vector3d origin;
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 3; ++k) turn(i, k) = m[static_cast<std::size_t>(4 * i + k)];
    origin[i] = m[static_cast<std::size_t>(4 * i + 3)];
  }
  const Eigen::Matrix3d voxel_from_world = turn.inverse();
  list.clear();
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto& row = rows[r];
    if (row.size() != 3 || !std::isfinite(row[0]) || !std::isfinite(row[1]) || !std::isfinite(row[2]))
      return Error(ErrorCode::invalid_metadata,
                   fmt::format("{}: seed {}: must be 3 numbers, x, y and z in mm; it has {}", path, r, row.size()));
    const Eigen::Vector3d at = voxel_from_world * (Eigen::Vector3d(row[0], row[1], row[2]) - origin);
    for (int d = 0; d < 3; ++d) list.push_back(float_bits(static_cast<float>(at[d])));
  }
  if (list.empty()) return Error(ErrorCode::invalid_argument, path + ": has no seeds");
  return {};
}

Status read_voxels(const Volume& volume, const std::string& path, const Options& options,
                   std::vector<std::uint32_t>& list) {
  PENSTOCK_ASSIGN(const std::vector<float> image, load_map(path, volume, options));
  list.clear();
  for (std::size_t i = 0; i < image.size(); ++i)
    if (image[i] > 0) list.push_back(static_cast<std::uint32_t>(i));
  if (list.empty()) return Error(ErrorCode::invalid_argument, path + ": the seed image is empty");
  return {};
}

}  // namespace

Result<std::uint64_t> place_seeds(const Volume& volume, const TrackOptions& how, const Options& options,
                                  HostField& field) {
  SeedParams& s = field.seed_params;
  if (!how.seeds_file.empty()) {
    PENSTOCK_TRY(read_places(volume, how.seeds_file, field.seed_list));
    s.mode = SeedMode::points;
    s.count = static_cast<std::uint32_t>(field.seed_list.size() / 3);
    return std::uint64_t{s.count};
  }
  if (!how.seed_image.empty()) PENSTOCK_TRY(read_voxels(volume, how.seed_image, options, field.seed_list));
  s.count = static_cast<std::uint32_t>(field.seed_list.size());
  s.along = how.seed_grid;
  s.per_voxel = how.seed_grid > 0 ? how.seed_grid * how.seed_grid * how.seed_grid : how.seeds_per_voxel;
  s.mode = how.seed_grid > 0 ? SeedMode::grid : how.seeds > 0 ? SeedMode::random_voxels : SeedMode::per_voxel;
  return how.seeds > 0 ? how.seeds : checked_mul(std::uint64_t{s.count}, std::uint64_t{s.per_voxel});
}

}  // namespace penstock::tracto
