// What lies above the tissue is cut off.
#pragma once
#include "oct/step.hpp"

namespace penstock::oct {

Step crop_step();

}  // namespace penstock::oct
