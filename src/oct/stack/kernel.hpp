// Slices laid over each other, written once for every processor.
#pragma once
#include <cstdint>

#include "oct/walk/box.hpp"

namespace penstock::oct::stack {

/// A slice in a stack.
struct SliceInStack {
  std::uint64_t first = 0, planes = 0;  ///< in the volume
  std::uint64_t from = 0;               ///< its first plane in the box that holds all slices
  std::uint64_t shared = 0;             ///< planes at its top that those before it have too
  std::uint64_t weights = 0;            ///< of those planes, where in the table
};

/// Each element of the volume from the slices there, from the top down: where both hold something (above 0), from what
/// is there to the new by the plane's weight; else the one that does.
struct StackSlices {
  ConstBox in;  ///< the slices one after another along depth
  float* out;   ///< (planes of the volume, rows, cols), packed
  const SliceInStack* slices;
  std::uint64_t count;
  const float* weights;

  PENSTOCK_HD void operator()(std::uint64_t i) const {
    const std::uint64_t c = i % in.cols, r = i / in.cols % in.rows, z = i / in.columns();
    float v = 0;
    for (std::uint64_t k = 0; k < count; ++k) {
      const SliceInStack s = slices[k];
      if (z < s.first || z >= s.first + s.planes) continue;
      const std::uint64_t own = z - s.first;
      const float next = *in.at(s.from + own, r, c);
      if (own < s.shared && v > 0 && next > 0)
        v += weights[s.weights + own] * (next - v);
      else if (next > 0)
        v = next;
    }
    out[i] = v;
  }
};

}  // namespace penstock::oct::stack

#define PENSTOCK_OCT_STACK_JOBS(M) M(stack::StackSlices)
