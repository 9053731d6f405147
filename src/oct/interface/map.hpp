// The depth at which tissue begins, of each column.
#pragma once
#include <vector>

#include "oct/file/volume.hpp"
#include "oct/step.hpp"

namespace penstock::oct {

/// How the interface of each column is looked for.
struct InterfaceMapOptions {
  std::uint64_t width = 15;  ///< of the box that columns are averaged over, pixels
  double sigma_z = 2;        ///< of the Gaussian along depth, planes
  bool logarithm = true;     ///< of what is above 0
  bool compat = false;       ///< whole planes: the steepest rise plus half of sigma_z, rounded up
};
/// Of a block (planes, rows, columns), in planes, row by row: where the derivative of a Gaussian along depth is
/// largest, the first of equals, to a fraction of a plane.  Filters run on the device.
Result<std::vector<double>> interface_map(Block block, const InterfaceMapOptions& how, Device device,
                                          const Options& options);

Step tissue_interface_step();

}  // namespace penstock::oct
