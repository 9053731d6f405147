// The depth at which tissue begins, of each column.
#pragma once
#include <vector>

#include "oct/step.hpp"
#include "oct/work.hpp"

namespace penstock::oct {

/// How the interface of each column is looked for.
struct InterfaceMapOptions {
  std::uint64_t width = 15;     ///< of the box that columns are averaged over, pixels
  double sigma_z = 2;           ///< of the Gaussian along depth, planes
  bool logarithm = true;        ///< of what is above 0
  bool compat = false;          ///< whole planes: the steepest rise plus half of sigma_z, rounded up
  bool cutting_errors = false;  ///< where the smoothed intensity itself is largest above the interface, there
  /// Errors: invalid_argument.
  [[nodiscard]] Status check() const;
};
/// The option `sigma_xy`: the width of a box, fractions cut off.
std::uint64_t box_width(const StepCall& call);
/// Of elements (planes, rows, columns; packed), in planes, row by row: where the derivative of a Gaussian along depth
/// is largest, the first of equals, to a fraction of a plane.  `mask`: of the same shape, on the same device; only
/// elements where it is above 0 count, as if they lay without gaps (nullptr: all).
Result<std::vector<double>> interface_map(const Tensor& elements, const InterfaceMapOptions& how, const Tools& tools,
                                          const Tensor* mask = nullptr);

Step tissue_interface_step();

}  // namespace penstock::oct
