// Device memory of the library's own work.
#pragma once
#include <memory>

#include "penstock/device.hpp"

namespace penstock {

/// The pool of the process for what reads and writes hold on `device` for a while.  It outlives them: allocating anew
/// each time would cost more than small reads do.  Errors: no_device, device_error.
Result<std::shared_ptr<Memory>> staging_memory(Device device);

}  // namespace penstock
