// Steps of a file, run so that neighbours which work tile by tile are one; and what that will be, in words.
#pragma once
#include "oct/step.hpp"

namespace penstock::oct {

Step run_steps_step();
Step explain_steps_step();

}  // namespace penstock::oct
