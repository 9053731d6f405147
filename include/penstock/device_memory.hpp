// Memory of devices: whose an address is, and the pool that results come from.
#pragma once
#include <memory>

#include "penstock/api.hpp"
#include "penstock/device.hpp"

namespace penstock {

/// The CUDA device whose memory holds `address`.  Errors: no_device (with the reason), invalid_argument (memory of
/// none).
PENSTOCK_API Result<Device> cuda_device_of(const void* address);

/// The pool of the process for what is given to callers: no cap, the driver's limit is the limit.  Errors: no_device,
/// device_error.
PENSTOCK_API Result<std::shared_ptr<Memory>> result_memory(Device device);

}  // namespace penstock
