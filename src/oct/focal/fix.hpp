// The curved focus that all tiles share, made flat.
#pragma once
#include "oct/file/volume.hpp"
#include "oct/step.hpp"

namespace penstock::oct {

Step fix_focal_curvature_step();

}  // namespace penstock::oct
