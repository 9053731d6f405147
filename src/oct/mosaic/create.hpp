// Raw tiles of a slice to its mosaic grid.
#pragma once
#include "oct/step.hpp"

namespace penstock::oct {

Step mosaic_step();

}  // namespace penstock::oct
