// CUDA as a kind of device.  Built when a CUDA compiler was found; whether there is a driver and a GPU shows at run
// time.
#pragma once
#include "device/backend.hpp"

namespace penstock {

/// Lives until the process ends.  The driver is looked up on first use.
Backend& cuda_backend();

}  // namespace penstock
