// How many streamlines have a point in each voxel.
#pragma once
#include <Eigen/LU>
#include <cmath>
#include <span>
#include <vector>

#include "tracto/file/tractogram.hpp"

namespace penstock::tracto {

class DensityMap {
 public:
  /// The transformation has an inverse.
  explicit DensityMap(const ImageGrid& grid)
      : grid_(grid), counts_(grid.dims[0] * grid.dims[1] * grid.dims[2]), last_(counts_.size(), ~std::uint32_t{0}) {
    const auto& m = grid.world_from_voxel.rows;
    Eigen::Matrix4d world_from_voxel = Eigen::Matrix4d::Identity();
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < 4; ++k) world_from_voxel(i, k) = m[static_cast<std::size_t>(4 * i + k)];
    voxel_from_world_ = world_from_voxel.inverse();
  }

  /// One streamline, in world mm: each voxel that it has points in counts once.
  void add(std::span<const std::array<float, 3>> points) {
    for (const auto& p : points) {
      const Eigen::Vector4d at = voxel_from_world_ * Eigen::Vector4d(p[0], p[1], p[2], 1).cast<double>();
      std::uint64_t voxel = 0, stride = 1;
      bool inside = true;
      for (std::size_t d = 0; d < 3; ++d) {
        const double i = std::floor(at[static_cast<Eigen::Index>(d)] + 0.5);
        inside = inside && i >= 0 && i < static_cast<double>(grid_.dims[d]);
        if (inside) voxel += stride * static_cast<std::uint64_t>(i);
        stride *= grid_.dims[d];
      }
      if (!inside) {
        ++outside_;
        continue;
      }
      if (last_[voxel] == line_) continue;
      last_[voxel] = line_;
      counts_[voxel] += 1;
    }
    line_ = line_ + 1 == ~std::uint32_t{0} ? 0 : line_ + 1;
  }
  [[nodiscard]] std::vector<float> counts() && { return std::move(counts_); }
  [[nodiscard]] std::uint64_t outside() const { return outside_; }

 private:
  ImageGrid grid_;
  Eigen::Matrix4d voxel_from_world_;
  std::vector<float> counts_;
  std::vector<std::uint32_t> last_;  // streamline that was there last
  std::uint32_t line_ = 0;
  std::uint64_t outside_ = 0;
};

}  // namespace penstock::tracto
