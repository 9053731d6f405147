// Slices, each moved to its place in one image that holds them all.
#pragma once
#include "oct/step.hpp"

namespace penstock::oct {

Step common_space_step();

}  // namespace penstock::oct
