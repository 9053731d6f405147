// How much may come out of bytes whose decoded size nothing states.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>

namespace penstock {

/// Where nothing bounds the decoded size (variable-length elements), the input does: decompression beyond this ratio
/// is taken for a bomb.
constexpr std::uint64_t unbounded_limit(std::uint64_t input_bytes) {
  constexpr std::uint64_t kRatio = 8192, kMax = std::numeric_limits<std::uint64_t>::max();
  return std::max(std::uint64_t{256} << 20, input_bytes > kMax / kRatio ? kMax : input_bytes * kRatio);
}

}  // namespace penstock
