// The levels of an image, before they are written and one after another.
#pragma once
#include <vector>

#include "penstock/pyramid.hpp"

namespace penstock {

/// How each level is made.
struct LevelMethod {
  Downsample method = Downsample::mean;
  Device device;
};
/// What a pyramid consists of.
struct PyramidPlan {
  Multiscale image;
  std::vector<Dataset> levels;  ///< finest first
  LevelMethod how;
  std::vector<std::uint32_t> factors;  ///< of each dimension, from level to level
};
/// Errors: invalid_argument (axes, scale or factor that do not fit), unsupported (no mean of such elements).
Result<PyramidPlan> plan_pyramid(const Dataset& level0, const PyramidOptions& options);

/// Makes `coarse`, one level of an image, of the finer one before it, and adds what it took to `report`.
Status make_level(const Array& fine, Array& coarse, const std::vector<std::uint32_t>& factors, const LevelMethod& how,
                  const Options& options, Report& report);

}  // namespace penstock
