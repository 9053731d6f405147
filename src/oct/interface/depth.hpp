// The depth at which the tissue of a slice begins: one for the whole slice.
#pragma once
#include <optional>

#include "oct/file/volume.hpp"

namespace penstock::oct {

/// How the interface is looked for.
struct InterfaceOptions {
  double sigma_xy = 3, sigma_z = 2;           ///< voxels
  std::optional<double> percentile_max = {};  ///< intensities above this percentile count as it
  bool logarithm = false;                     ///< of what is above 0
};
/// The steepest rise along depth, in planes; fractions from the parabola through the three largest.
struct Interface {
  double depth = 0;
  std::uint64_t plane = 0;  ///< of the steepest rise; the first of equals
};
/// Derivative of a Gaussian along depth, Gaussian across, summed over the columns that are bright enough (above the 5th
/// percentile of those that are above 0); tile by tile on the device.
Result<Interface> find_interface(const Volume& slice, const std::string& path, const InterfaceOptions& how,
                                 Device device, const Options& options);

/// Where the parabola through a value and its two neighbours is highest; `at` itself at the ends.
double peak_near(const std::vector<double>& values, std::size_t at);

}  // namespace penstock::oct
