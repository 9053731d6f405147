// The depth at which tissue begins, of each column.
#pragma once
#include <optional>
#include <vector>

#include "oct/step.hpp"
#include "oct/walk/walk.hpp"

namespace penstock::oct {

/// How the interface of each column is looked for.
struct InterfaceMapOptions {
  std::uint64_t width = 15;     ///< of the box that columns are averaged over, pixels; 0 and 1: none
  double sigma_z = 2;           ///< of the Gaussian along depth, planes
  bool logarithm = true;        ///< of what is above 0
  bool cutting_errors = false;  ///< where the smoothed intensity itself is largest above it, there
  bool compat = false;          ///< whole planes: the steepest rise plus half of sigma_z, rounded up
};
/// Errors: invalid_argument (values out of range).
Status check(const InterfaceMapOptions& how);

/// Writes the interface of each column of a box (planes, rows, columns; at least one plane) to `map` (rows, columns),
/// in planes, where the step works: where the derivative of a Gaussian along depth is largest, the first of equals, to
/// a fraction of a plane.  `mask`: of the box's shape; only what it holds (above 0) counts, as if it lay together.
Status map_interface(const TensorView& box, const std::optional<TensorView>& mask, const InterfaceMapOptions& how,
                     double* map, const Workspace& work);
/// Working memory of it, for a box of such a shape.
Result<std::uint64_t> map_interface_bytes(const InterfaceMapOptions& how, const Shape& shape, bool masked);

Step tissue_interface_step();

}  // namespace penstock::oct
