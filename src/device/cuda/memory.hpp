// Stream-ordered device memory from a pool of our own.
#pragma once
#include <cstdint>
#include <memory>

#include "penstock/device.hpp"

namespace penstock {

/// Never hands out more than `cap_bytes` (0: no cap).
Result<std::shared_ptr<Memory>> create_cuda_memory(int index, std::uint64_t cap_bytes);

}  // namespace penstock
