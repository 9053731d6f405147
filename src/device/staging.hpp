// The library's own memory of each device.
#pragma once
#include <memory>

#include "penstock/device_memory.hpp"

namespace penstock {

/// The pool of the process for what reads and writes hold on `device` for a while.  It outlives them: allocating anew
/// each time would cost more than small reads do.  Apart from result_memory (penstock/device_memory.hpp): the peak of
/// this one is what an operation reports as its own.  Errors: no_device, device_error.
Result<std::shared_ptr<Memory>> staging_memory(Device device);

}  // namespace penstock
