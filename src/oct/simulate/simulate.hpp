// Writes a made subject: raw tiles, shifts, and what is true of it.
#pragma once
#include "oct/step.hpp"

namespace penstock::oct {

Step simulate_step();

}  // namespace penstock::oct
