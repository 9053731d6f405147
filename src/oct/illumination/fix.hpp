// Even illumination: the flat field that all tiles of a mosaic grid share.
#pragma once
#include "oct/step.hpp"

namespace penstock::oct {

Step fix_illumination_step();

}  // namespace penstock::oct
