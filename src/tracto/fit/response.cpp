#include "tracto/fit/response.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace penstock::tracto {

Box centre_box(const std::array<std::uint64_t, 3>& dims, std::uint32_t radius) {
  Box box = {};
  for (std::size_t d = 0; d < 3; ++d) {
    const std::uint64_t centre = dims[d] / 2, half = std::min<std::uint64_t>(radius, centre);
    box.first[d] = centre - half;
    box.last[d] = std::min(dims[d], std::max(centre + half, box.first[d] + 1));
  }
  return box;
}

Result<FibreResponse> mean_response(std::span<const Tensor3> tensors, std::span<const float> b0, double min_fa) {
  FibreResponse r;
  double along = 0, across = 0, best = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const double fa = tensors[i].fa();
    best = std::max(best, fa);
    if (!(fa > min_fa)) continue;
    along += tensors[i].evals[0];
    across += tensors[i].evals[1];
    r.s0 += static_cast<double>(b0[i]);
    ++r.voxels;
  }
  if (r.voxels == 0)
    return Error(ErrorCode::invalid_argument,
                 fmt::format("response: no voxel about the centre has a fractional anisotropy above {}; the highest of "
                             "{} voxels is {:.3f}",
                             min_fa, tensors.size(), best))
        .set_hint("a lower --response-fa or a larger --response-radius finds some.");
  const auto n = static_cast<double>(r.voxels);
  r.evals = {along / n, across / n, across / n};
  r.s0 /= n;
  if (!(r.s0 > 0) || !(r.evals[0] > 0))
    return Error(ErrorCode::invalid_argument, fmt::format("response: the {} voxels have no signal", r.voxels));
  return r;
}

}  // namespace penstock::tracto
