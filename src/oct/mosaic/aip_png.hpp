// The average intensity projection as a picture.
#pragma once
#include "oct/step.hpp"

namespace penstock::oct {

Step aip_png_step();

}  // namespace penstock::oct
