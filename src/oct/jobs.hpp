// All work of steps that runs on a device: `M(F)`.
#pragma once
#include "oct/illumination/basic_kernel.hpp"

#define PENSTOCK_OCT_JOBS(M) PENSTOCK_OCT_BASIC_JOBS(M)
