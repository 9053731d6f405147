// Slices on top of each other: the volume.
#pragma once
#include "oct/step.hpp"

namespace penstock::oct {

Step stack_step();

}  // namespace penstock::oct
