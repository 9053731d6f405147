// Intensities plane by plane: how often each is there, and another range for them.
#pragma once
#include <cstdint>

#include "oct/kernels/box.hpp"
#include "ops/select/kernel.hpp"

namespace penstock::oct {

/// Elements that a plane's tables look for begin with one of few; of the others none is counted.
inline constexpr std::uint32_t kPlanePrefixes = 3;
inline constexpr std::uint32_t kHalfBits = 16;
inline constexpr std::uint32_t kHalfValues = 1u << kHalfBits;

/// What counting a plane needs to know in the second pass: the upper halves of the keys that are wanted.
struct PlanePrefixes {
  std::uint32_t count = 0;
  std::uint32_t prefix[kPlanePrefixes] = {};
};

/// What is no number, or infinite, counts as 0.
PENSTOCK_HD float finite_or_zero(float v) { return v - v == 0 ? v : 0.0f; }

/// Counts the elements of a box, each in a table of its plane: first by the upper half of their key, then by the lower
/// half those that begin as one that is wanted.
struct CountPlanes {
  ConstBox in;
  const std::uint8_t* mask;       ///< of each column of the box, row by row: others are left out; nullptr: none are
  const PlanePrefixes* prefixes;  ///< of each plane; nullptr: the first pass
  std::uint32_t tables;           ///< of a plane
  std::uint32_t* counts;          ///< (depth, tables, kHalfValues)

  /// Calls `add` with the counter of element i, if it has one.
  template <class Add>
  PENSTOCK_HD void count(std::uint64_t i, const Add& add) const {
    const std::uint64_t column = i % in.columns(), z = i / in.columns();
    if (mask != nullptr && mask[column] == 0) return;
    const std::uint32_t key = select::key_of(finite_or_zero(*in.at(z, column / in.cols, column % in.cols)));
    std::uint32_t* const own = counts + z * tables * kHalfValues;
    if (prefixes == nullptr) {
      add(own + (key >> kHalfBits));
      return;
    }
    const PlanePrefixes& wanted = prefixes[z];
    for (std::uint32_t p = 0; p < wanted.count; ++p)
      if (wanted.prefix[p] == key >> kHalfBits) add(own + p * kHalfValues + (key & (kHalfValues - 1)));
  }
  PENSTOCK_HD void operator()(std::uint64_t i) const {
    count(i, [](std::uint32_t* counter) { atomic_add(counter, 1u); });
  }
};

/// What a plane is brought from: `low` and below becomes 0, `high` and above high - low, all divided by `span`.
struct PlaneRange {
  double low = 0, high = 0, span = 0;
};
struct ScalePlanes {
  ConstBox in;
  float* out;                ///< packed
  const PlaneRange* ranges;  ///< of each plane

  PENSTOCK_HD void operator()(std::uint64_t i) const {
    const std::uint64_t c = i % in.cols, r = i / in.cols % in.rows, z = i / in.columns();
    const PlaneRange range = ranges[z];
    const auto v = static_cast<double>(finite_or_zero(*in.at(z, r, c)));
    const double cut = v < range.high ? v : range.high;
    out[i] = range.span > 0 && v > range.low ? static_cast<float>((cut - range.low) / range.span) : 0.0f;
  }
};

}  // namespace penstock::oct
