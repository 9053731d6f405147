// One element of the next coarser level: written once for every processor.
#pragma once
#include <cstdint>
#include <type_traits>

#include "device/portable.hpp"
#include "penstock/region.hpp"

namespace penstock {

/// Shapes of one step, C order, both sides contiguous.  `factor` is 1 or 2 per dimension; coarse = ceil(fine / factor).
struct DownsampleShape {
  std::uint32_t rank = 0;
  std::uint64_t fine[kMaxRank] = {};
  std::uint64_t coarse[kMaxRank] = {};
  std::uint32_t factor[kMaxRank] = {};
};

/// Coarse element i = the mean of its fine elements (fewer at an odd end).  Whole numbers are rounded to the nearest,
/// halves away from zero; Sum must hold 2^d elements without overflow.
template <class T, class Sum>
struct DownsampleMean {
  DownsampleShape shape;
  const T* fine;
  T* coarse;

  PENSTOCK_HD void operator()(std::uint64_t i) const {
    // The first fine element of the block, and how far the block reaches in each halved dimension.
    std::uint64_t rest = i, base = 0, stride = 1;
    std::uint64_t reach[kMaxRank];
    std::uint32_t halved = 0;
    for (std::uint32_t d = shape.rank; d-- > 0;) {
      const std::uint64_t c = rest % shape.coarse[d];
      rest /= shape.coarse[d];
      const std::uint64_t first = c * shape.factor[d];
      base += first * stride;
      if (shape.factor[d] == 2 && first + 1 < shape.fine[d]) reach[halved++] = stride;
      stride *= shape.fine[d];
    }
    const std::uint32_t count = 1u << halved;
    Sum sum = 0;
    for (std::uint32_t corner = 0; corner < count; ++corner) {
      std::uint64_t at = base;
      for (std::uint32_t d = 0; d < halved; ++d) at += (corner >> d & 1u) != 0 ? reach[d] : 0;
      sum = static_cast<Sum>(sum + static_cast<Sum>(fine[at]));
    }
    coarse[i] = mean(sum, halved);
  }

 private:
  PENSTOCK_HD static T mean(Sum sum, std::uint32_t halved) {
    if constexpr (std::is_floating_point_v<Sum>) {
      return static_cast<T>(sum / static_cast<Sum>(1u << halved));
    } else {
      const Sum count = static_cast<Sum>(Sum{1} << halved), half = static_cast<Sum>(count / 2);
      if constexpr (std::is_signed_v<Sum>)
        return static_cast<T>((sum < 0 ? sum - half : sum + half) / count);
      else
        return static_cast<T>((sum + half) / count);
    }
  }
};

}  // namespace penstock
