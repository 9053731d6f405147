// A page about a reconstruction, to look at.
#pragma once
#include "oct/step.hpp"

namespace penstock::oct {

Step report_step();

}  // namespace penstock::oct
