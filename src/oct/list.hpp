// All steps; command line, Python and help come from here.
#pragma once
#include <span>
#include <string_view>

#include "oct/step.hpp"

namespace penstock::oct {

std::span<const Step> steps();
/// nullptr: there is none of this name.
const Step* find_step(std::string_view name);

}  // namespace penstock::oct
