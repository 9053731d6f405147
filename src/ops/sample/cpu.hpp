// What the loops of the CPU work on: blocks of outputs, and rows of the input with weights.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "ops/sample/spline.hpp"
#include "ops/sample/types.hpp"

namespace penstock::sample {

/// Outputs side by side whose coordinates are found, and weighed, together.
inline constexpr std::size_t kBlock = 32;
struct Block {
  std::size_t count = 0;
  double at[kMaxDimensions][kBlock];
};

/// Up to four rows of the input, and how much each counts.
template <class T, class C>
struct WeighedRows {
  std::size_t count = 0;
  const T* row[4];
  C weight[4];
};

}  // namespace penstock::sample
