// The CPU as a device: memory is host memory, queues are empty, copies happen at once.
#pragma once
#include "device/backend.hpp"

namespace penstock {

/// Lives until the process ends.
Backend& cpu_backend();

}  // namespace penstock
