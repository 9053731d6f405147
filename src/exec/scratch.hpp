// Working memory that a worker reuses from one piece of work to the next.
#pragma once
#include "penstock/bytes.hpp"

namespace penstock {

/// Two buffers that take turns as input and output of the steps of one piece of work.
struct ScratchBuffers {
  Bytes a, b;
};

}  // namespace penstock
