// 16-bit floats of CUDA: __half.
#pragma once
#include <cuda_fp16.h>
