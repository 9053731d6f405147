// Tiles of a mosaic grid, each at its place.
#pragma once
#include "oct/step.hpp"

namespace penstock::oct {

Step stitch_step();

}  // namespace penstock::oct
