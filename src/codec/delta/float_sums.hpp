// Differences of floats summed by a team in the order of the elements, so that every bit is that of the CPU.
//
// The sums are one dependent chain for each part of the elements (complex numbers have two), so a lane runs along each;
// the team brings a tile of numbers into shared memory for it and takes the sums out.
#pragma once
#include <cstdint>

#include "codec/astype/scalar.hpp"
#include "codec/status.hpp"

namespace penstock::delta {

/// T: the type of the sums, float or double.
template <class T>
struct FloatShared {
  static constexpr std::uint32_t size = 512;  ///< numbers of a tile, a multiple of the parts
  T number[size];
  T sum[size];
  T last[2];  ///< of each part
};

/// Running sums of every `parts`-th number from `part` on, after `last`; the last of them.
template <class T>
PENSTOCK_HD T sum_tile(FloatShared<T>& s, std::uint32_t part, std::uint32_t parts, std::uint32_t count, T last) {
  T sum = last;
  for (std::uint32_t i = part; i < count; i += parts) {
    sum += s.number[i];
    s.sum[i] = sum;
  }
  if (!is_nan(sum)) return sum;
  // A NaN stays one, so this is a tile with one in it.
  sum = last;
  for (std::uint32_t i = part; i < count; i += parts) {
    sum = with_nan_of(sum + s.number[i], sum, s.number[i]);
    s.sum[i] = sum;
  }
  return sum;
}

/// Decodes a chunk of differences stored as `from` to floats of `to`.
template <class T, class Team>
PENSTOCK_HD ChunkStatus decode_floats(const Team& team, const DecodeTask& task, ScalarType from, ScalarType to,
                                      std::uint32_t parts, FloatShared<T>& shared) {
  const std::uint64_t n = task.out_bytes / to.bytes;
  const ChunkStatus result = check_size(task, n * from.bytes);
  if (result.status != DecodeStatus::ok) return result;
  const auto* const in = assume_global(reinterpret_cast<const std::uint8_t*>(task.in));
  auto* const out = assume_global(reinterpret_cast<std::uint8_t*>(task.out));
  team.each_lane([&](std::uint32_t lane) {
    if (lane < parts) shared.last[lane] = static_cast<T>(-0.0F);  // changes no first element; 0.0 would change -0.0
  });
  for (std::uint64_t begin = 0; begin < n; begin += FloatShared<T>::size) {
    const auto count = static_cast<std::uint32_t>(n - begin < FloatShared<T>::size ? n - begin : FloatShared<T>::size);
    team.for_each(count, [&](std::uint32_t i) { shared.number[i] = from.load<T>(in + (begin + i) * from.bytes); });
    team.each_lane([&](std::uint32_t lane) {
      if (lane < parts) shared.last[lane] = sum_tile(shared, lane, parts, count, shared.last[lane]);
    });
    team.for_each(count, [&](std::uint32_t i) { to.store(out + (begin + i) * to.bytes, shared.sum[i]); });
  }
  return result;
}

}  // namespace penstock::delta
