// An array with more elements at the ends of some axes, whatever its rank: some of a row's by one lane of a device.
#pragma once
#include <cstdint>

#include "device/portable.hpp"
#include "ops/divide.hpp"
#include "penstock/region.hpp"

namespace penstock::line {

/// W: an unsigned number of the elements' size.
template <class W>
struct ExtendJob {
  static constexpr std::uint32_t kOutputs = 8;
  const W* in = nullptr;
  W* out = nullptr;
  std::uint32_t dimensions = 1;
  std::uint64_t in_extent[kMaxRank] = {1};
  std::uint64_t out_extent[kMaxRank] = {1};
  std::uint64_t begins[kMaxRank] = {};  ///< where the table of each axis begins: out_extent rows, -1: the constant
  const std::int32_t* table = nullptr;
  W constant = W(0);

  [[nodiscard]] PENSTOCK_HD std::uint64_t width() const { return out_extent[dimensions - 1]; }
  [[nodiscard]] PENSTOCK_HD std::uint64_t rows() const {
    std::uint64_t count = 1;
    for (std::uint32_t d = 0; d + 1 < dimensions; ++d) count *= out_extent[d];
    return count;
  }
  /// Outputs of a lane are so far apart that neighbouring lanes have neighbouring outputs.
  [[nodiscard]] PENSTOCK_HD std::uint64_t apart() const { return (width() + kOutputs - 1) / kOutputs; }
  [[nodiscard]] std::uint64_t lanes() const { return rows() * apart(); }

  /// The row of the input that a row of the output is made of; nullptr: the constant.
  PENSTOCK_HD const W* source(std::uint64_t row) const {
    std::uint64_t from = 0, stride = in_extent[dimensions - 1];
    for (std::uint32_t d = dimensions - 1; d-- > 0; stride *= in_extent[d]) {
      std::uint64_t k = row;
      row = divide(k, out_extent[d]);
      const std::int32_t at = table[begins[d] + k];
      if (at < 0) return nullptr;
      from += static_cast<std::uint64_t>(at) * stride;
    }
    return in + from;
  }
  PENSTOCK_HD void operator()(std::uint64_t lane) const {
    const std::uint64_t step = apart(), row = divide(lane, step);
    const W* const from = source(row);
    const std::int32_t* const columns = table + begins[dimensions - 1];
    W* const to = out + row * width();
    PENSTOCK_UNROLL
    for (std::uint32_t k = 0; k < kOutputs; ++k) {
      const std::uint64_t x = lane + k * step;
      if (x >= width()) break;
      const std::int32_t at = columns[x];
      to[x] = from == nullptr || at < 0 ? constant : from[at];
    }
  }
};

}  // namespace penstock::line
