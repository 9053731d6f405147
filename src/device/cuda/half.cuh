// Floating point numbers of 16 bits.
#pragma once
#include <cuda_fp16.h>

namespace penstock {

/// Made of a float by rounding to the nearest, of two as near to the even one, as the CPU does.
using CudaHalf = __half;

}  // namespace penstock
