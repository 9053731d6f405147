// A reconstruction of a made subject beside the truth.
#pragma once
#include "oct/step.hpp"

namespace penstock::oct {

Step score_step();

}  // namespace penstock::oct
