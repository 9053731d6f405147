// Intensities of each plane of a slice between 0 and 1.
#pragma once
#include "oct/step.hpp"

namespace penstock::oct {

Step normalize_step();

}  // namespace penstock::oct
