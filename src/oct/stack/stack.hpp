// Slices on top of each other: the volume.
#pragma once
#include "oct/step.hpp"

namespace penstock::oct {

/// Errors: invalid_argument (slices of so many planes would lie no plane apart, or far beyond each other).
Status check_interval(double interval_mm, double plane_mm, std::uint64_t planes);

Step stack_step();

}  // namespace penstock::oct
