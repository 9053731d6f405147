// The library's own memory of each device.
#pragma once
#include <memory>

#include "penstock/device.hpp"

namespace penstock {

/// The pool of the process for what reads and writes hold on `device` for a while.  It outlives them: allocating anew
/// each time would cost more than small reads do.  Errors: no_device, device_error.
Result<std::shared_ptr<Memory>> staging_memory(Device device);

/// The pool for what is given to callers: no cap, the driver's limit is the limit.  Apart from staging_memory, whose
/// peak is what an operation reports as its own.
Result<std::shared_ptr<Memory>> result_memory(Device device);

}  // namespace penstock
