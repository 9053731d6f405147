// One element made of a block of finer ones: written once for every processor.
#pragma once
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "device/portable.hpp"
#include "penstock/region.hpp"

namespace penstock::downsample {

/// A box of blocks and the box of elements that they are made of, C order, both packed.
struct BlockShape {
  std::uint32_t rank = 0;
  std::uint64_t fine[kMaxRank] = {};    ///< extents of the fine box
  std::uint64_t origin[kMaxRank] = {};  ///< where it begins
  std::uint64_t whole[kMaxRank] = {};   ///< extents of all that is fine
  std::uint64_t coarse[kMaxRank] = {};
  std::uint64_t coarse_origin[kMaxRank] = {};
  std::uint32_t factor[kMaxRank] = {};  ///< all that is coarse = ceil(whole / factor)
};

/// The fine elements that a coarse one stands for.
struct Block {
  std::uint64_t start = 0;  ///< of the first, in the fine box
  std::uint32_t count[kMaxRank] = {};
  std::uint64_t stride[kMaxRank] = {};
  std::uint32_t rank = 0;
  std::uint64_t size = 1;

  PENSTOCK_HD Block(const BlockShape& shape, std::uint64_t i) : rank(shape.rank) {
    std::uint64_t step = 1;
    for (std::uint32_t d = rank; d-- > 0;) {
      const std::uint64_t first = (i % shape.coarse[d] + shape.coarse_origin[d]) * shape.factor[d];
      i /= shape.coarse[d];
      const std::uint64_t left = shape.whole[d] - first;
      count[d] = left < shape.factor[d] ? static_cast<std::uint32_t>(left) : shape.factor[d];
      stride[d] = step;
      start += (first - shape.origin[d]) * step;
      step *= shape.fine[d];
      size *= count[d];
    }
  }
  /// Calls f(index in the box) for each of them, in C order, until it says false.
  template <class F>
  PENSTOCK_HD void for_each(const F& f) const {
    std::uint32_t at[kMaxRank] = {};
    std::uint64_t index = start;
    for (std::uint64_t k = 0; k < size; ++k) {
      if (!f(index)) return;
      for (std::uint32_t d = rank; d-- > 0;) {
        index += stride[d];
        if (++at[d] < count[d]) break;
        index -= stride[d] * count[d];
        at[d] = 0;
      }
    }
  }
};

/// Whole numbers are rounded to the nearest, halves away from zero; Sum holds the sum of a block.
template <class T, class Sum>
struct Mean {
  BlockShape shape;
  const T* fine;
  T* coarse;

  PENSTOCK_HD void operator()(std::uint64_t i) const {
    const Block block(shape, i);
    Sum sum = 0;
    block.for_each([&](std::uint64_t at) {
      sum = static_cast<Sum>(sum + static_cast<Sum>(fine[at]));
      return true;
    });
    const Sum count = static_cast<Sum>(block.size);
    if constexpr (std::is_floating_point_v<Sum>) {
      coarse[i] = static_cast<T>(sum / count);
    } else {
      const Sum half = static_cast<Sum>(count / 2);
      coarse[i] = static_cast<T>((std::is_signed_v<Sum> && sum < 0 ? sum - half : sum + half) / count);
    }
  }
};

/// The element that is there most often; of equals the one that comes first.
template <class T>
struct Mode {
  BlockShape shape;
  const T* fine;
  T* coarse;

  PENSTOCK_HD void operator()(std::uint64_t i) const {
    const Block block(shape, i);
    std::uint64_t most = 0, left = block.size;
    T best{};
    block.for_each([&](std::uint64_t at) {
      std::uint64_t times = 0;
      block.for_each([&](std::uint64_t other) {
        times += fine[other] == fine[at] ? 1 : 0;
        return true;
      });
      if (times > most) most = times, best = fine[at];
      return --left > most;  // what was not seen yet is there no more often
    });
    coarse[i] = best;
  }
};

/// The first element, of any size.
struct First {
  BlockShape shape;
  const std::byte* fine;
  std::byte* coarse;
  std::uint32_t item;

  PENSTOCK_HD void operator()(std::uint64_t i) const {
    const Block block(shape, i);
    for (std::uint32_t b = 0; b < item; ++b) coarse[i * item + b] = fine[block.start * item + b];
  }
};

/// Elements beyond a block that a Gaussian of a third of the factor reaches.
PENSTOCK_HD std::uint32_t gaussian_reach(std::uint32_t factor) { return factor == 1 ? 0 : factor; }
/// Elements that it weights.
PENSTOCK_HD std::uint32_t gaussian_taps(std::uint32_t factor) { return factor + 2 * gaussian_reach(factor); }

/// A Gaussian of a third of the factor around the block's middle, mirrored at the ends.
template <class T, class C>
struct Gaussian {
  BlockShape shape;
  const T* fine;
  T* coarse;
  const C* weights;  ///< of each axis one after another, gaussian_taps of them

  PENSTOCK_HD void operator()(std::uint64_t i) const {
    std::uint64_t first[kMaxRank];
    std::uint64_t rest = i;
    for (std::uint32_t d = shape.rank; d-- > 0;) {
      first[d] = (rest % shape.coarse[d] + shape.coarse_origin[d]) * shape.factor[d];
      rest /= shape.coarse[d];
    }
    C sum = 0;
    std::uint32_t at[kMaxRank] = {};
    for (;;) {
      C w = 1;
      const C* weight = weights;
      std::uint64_t index = 0;
      for (std::uint32_t d = 0; d < shape.rank; ++d) {
        w *= weight[at[d]];
        weight += gaussian_taps(shape.factor[d]);
        index = index * shape.fine[d] + inside(d, first[d], at[d]);
      }
      sum += w * static_cast<C>(fine[index]);
      std::uint32_t d = shape.rank;
      while (d > 0 && ++at[d - 1] == gaussian_taps(shape.factor[d - 1])) at[--d] = 0;
      if (d == 0) break;
    }
    if constexpr (std::is_integral_v<T>) sum = sum < C(0) ? std::ceil(sum - C(0.5)) : std::floor(sum + C(0.5));
    coarse[i] = static_cast<T>(sum);
  }

 private:
  /// Which element of the box stands `tap` after the first one that is weighted.
  PENSTOCK_HD std::uint64_t inside(std::uint32_t d, std::uint64_t first, std::uint32_t tap) const {
    const auto n = static_cast<std::int64_t>(shape.whole[d]);
    std::int64_t at = static_cast<std::int64_t>(first + tap) - gaussian_reach(shape.factor[d]);
    if (at < 0 || at >= n) {
      at %= 2 * n;
      if (at < 0) at += 2 * n;
      if (at >= n) at = 2 * n - 1 - at;
    }
    return static_cast<std::uint64_t>(at) - shape.origin[d];
  }
};

}  // namespace penstock::downsample
