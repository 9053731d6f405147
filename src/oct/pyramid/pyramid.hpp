// Coarser levels of a volume, a mosaic grid or a projection.
#pragma once
#include "oct/step.hpp"

namespace penstock::oct {

Step pyramid_step();

}  // namespace penstock::oct
