// The signal of one fibre, from the voxels where there is only one.
#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "penstock/error.hpp"
#include "tracto/fit/tensor.hpp"

namespace penstock::tracto {

struct FibreResponse {
  std::array<double, 3> evals = {};  ///< mm2/s: along the fibre, across it twice
  double s0 = 0;                     ///< signal without weighting
  std::uint64_t voxels = 0;          ///< that it was taken from
};

/// A box of voxels about the centre of a volume of these extents, from `first` to before `last`.
struct Box {
  std::array<std::uint64_t, 3> first, last;
};
Box centre_box(const std::array<std::uint64_t, 3>& dims, std::uint32_t radius);

/// Means over the voxels of the box whose FA is above `min_fa`: of the first two eigenvalues and of the unweighted
/// volumes, as DIPY's auto_response_ssst.  `tensors`: of the box, x fastest; `b0`: mean unweighted signal, likewise.
/// Errors: invalid_argument when there is no such voxel, or no diffusion in them.
Result<FibreResponse> mean_response(std::span<const Tensor3> tensors, std::span<const float> b0, double min_fa);

}  // namespace penstock::tracto
