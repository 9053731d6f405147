// All work of steps that runs on a device: `M(F)`.
#pragma once
#include "oct/align/kernel.hpp"
#include "oct/illumination/basic_kernel.hpp"
#include "oct/interface/kernel.hpp"
#include "oct/stack/kernel.hpp"
#include "oct/stitch/kernel.hpp"
#include "oct/tiles/kernel.hpp"
#include "oct/transform/kernel.hpp"

#define PENSTOCK_OCT_JOBS(M)     \
  PENSTOCK_OCT_ALIGN_JOBS(M)     \
  PENSTOCK_OCT_BASIC_JOBS(M)     \
  PENSTOCK_OCT_INTERFACE_JOBS(M) \
  PENSTOCK_OCT_STACK_JOBS(M)     \
  PENSTOCK_OCT_STITCH_JOBS(M)    \
  PENSTOCK_OCT_TILE_JOBS(M)      \
  PENSTOCK_OCT_TRANSFORM_JOBS(M)
