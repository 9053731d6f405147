// The average intensity projection of a mosaic grid.
#pragma once
#include "oct/file/volume.hpp"
#include "oct/step.hpp"

namespace penstock::oct {

/// Mean over depth, (rows, columns), tile by tile on the device.
Result<std::vector<float>> average_projection(const Volume& mosaic, Device device, const Options& options);

Step aip_step();

}  // namespace penstock::oct
