// The tile transform of a slice, from the overlaps of its tiles.
#pragma once
#include "oct/step.hpp"

namespace penstock::oct {

Step estimate_transform_step();

}  // namespace penstock::oct
