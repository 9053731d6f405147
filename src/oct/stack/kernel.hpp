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

/// A plane that two slices show: numbers of planes in the box of all slices, and how much deeper it lies in the upper.
struct SharedPlane {
  std::uint64_t upper = 0, lower = 0, apart = 0;
};

/// Of each column of each shared plane, where both slices hold something (above 0): the sums over rows.
struct SumShared {
  ConstBox in;
  const SharedPlane* planes;
  double* out;  ///< (planes, upper and lower, cols)
  PENSTOCK_HD void operator()(std::uint64_t i) const {
    const std::uint64_t c = i % in.cols, p = i / in.cols;
    double upper = 0, lower = 0;
    for (std::uint64_t r = 0; r < in.rows; ++r) {
      const float u = *in.at(planes[p].upper, r, c), v = *in.at(planes[p].lower, r, c);
      if (u > 0 && v > 0) upper += static_cast<double>(u), lower += static_cast<double>(v);
    }
    out[2 * p * in.cols + c] = upper;
    out[(2 * p + 1) * in.cols + c] = lower;
  }
};

/// Adds columns to a sum.
struct AddColumns {
  const double* in;
  std::uint64_t cols;
  double* out;  ///< added to
  PENSTOCK_HD void operator()(std::uint64_t i) const {
    double sum = 0;
    for (std::uint64_t c = 0; c < cols; ++c) sum += in[i * cols + c];
    out[i] += sum;
  }
};

/// Each element of the volume from the slices there, from the top down: where both hold something (above 0), from what
/// is there to the new by the plane's weight; else the one that does.  Planes are evened out first.
struct StackSlices {
  ConstBox in;  ///< the slices one after another along depth
  float* out;   ///< (planes of the volume, rows, cols), packed
  const SliceInStack* slices;
  std::uint64_t count;
  const float* weights;
  const float* gains;  ///< of the planes of a slice, by depth

  PENSTOCK_HD void operator()(std::uint64_t i) const {
    const std::uint64_t c = i % in.cols, r = i / in.cols % in.rows, z = i / in.columns();
    float v = 0;
    for (std::uint64_t k = 0; k < count; ++k) {
      const SliceInStack s = slices[k];
      if (z < s.first || z >= s.first + s.planes) continue;
      const std::uint64_t own = z - s.first;
      const float next = gains[own] * *in.at(s.from + own, r, c);
      if (own < s.shared && v > 0 && next > 0)
        v += weights[s.weights + own] * (next - v);
      else if (next > 0)
        v = next;
    }
    out[i] = v;
  }
};

}  // namespace penstock::oct::stack

#define PENSTOCK_OCT_STACK_JOBS(M) M(stack::SumShared) M(stack::AddColumns) M(stack::StackSlices)
