// The operator on one block, per processor.
#pragma once
#include "ops/project/kernel.hpp"
#include "penstock/device.hpp"

namespace penstock {

/// Block and target in device memory, in the order of `stream`; returns before it is done.
/// Errors: unsupported (data type; built without CUDA), device_error.
Status project_max_cuda(const DType& dtype, const ProjectShape& shape, const void* source, void* target, bool first,
                        const Stream& stream);

}  // namespace penstock
