// Random placements and the naive loop that says what they must give.  Used by the CPU and the CUDA test.
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "array/assemble/place.hpp"

namespace penstock::test {

/// One placement with the memory it needs; `item` points into it (host).
struct RandomPlace {
  std::vector<std::byte> source;
  std::vector<std::byte> target;  ///< sentinels everywhere
  std::vector<std::byte> fill;
  std::vector<std::int64_t> source_strides, target_strides;
  std::vector<Range> part;
  std::vector<SwapRun> swaps;
  std::uint32_t item_bytes = 1;
  std::size_t target_offset = 0;
  bool absent = false;

  [[nodiscard]] PlaceItem item(const std::byte* source_data, std::byte* target_data) const {
    PlaceItem item;
    item.source = absent ? nullptr : source_data;
    item.source_strides = source_strides;
    item.part = part;
    item.target = target_data + target_offset;
    item.target_strides = target_strides;
    item.item_bytes = item_bytes;
    item.swaps = swaps;
    item.fill = fill;
    return item;
  }
};

/// Strides of a dense array of `shape` with its axes in a random order; sets the size in bytes.
inline std::vector<std::int64_t> random_order_strides(const Shape& shape, std::uint32_t item_bytes,
                                                      std::mt19937& random, std::uint64_t& bytes) {
  std::vector<std::size_t> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  if (random() % 2) std::shuffle(order.begin(), order.end(), random);
  std::vector<std::int64_t> strides(shape.size());
  bytes = item_bytes;
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = static_cast<std::int64_t>(bytes);
    bytes *= shape[order[i]];
  }
  return strides;
}

inline std::vector<SwapRun> random_swaps(std::uint32_t item_bytes, std::mt19937& random) {
  std::vector<SwapRun> runs;
  if (random() % 2) return runs;
  if (random() % 2) {  // plain numbers
    for (std::uint32_t unit = 16; unit > 1; unit /= 2)
      if (item_bytes % unit == 0 && random() % 2) return {{0, unit, item_bytes / unit}};
    return runs;
  }
  for (std::uint32_t at = 0; at < item_bytes;) {  // a structure
    const std::uint32_t unit = 1u << (random() % 4);
    if (at + unit <= item_bytes && random() % 3) runs.push_back({at, unit, 1});
    at += unit;
  }
  return runs;
}

/// `longest`: largest extent of an axis of the chunk.
inline RandomPlace random_place(std::mt19937& random, std::uint64_t longest) {
  RandomPlace p;
  const std::size_t rank = random() % 6;
  static constexpr std::uint32_t kItems[] = {1, 2, 4, 8, 16, 2, 3, 5, 6, 12, 24, 48};
  p.item_bytes = kItems[random() % 12];
  p.absent = random() % 5 == 0;
  p.swaps = random_swaps(p.item_bytes, random);
  if (random() % 2) {
    for (std::uint32_t i = 0; i < p.item_bytes; ++i)
      p.fill.push_back(static_cast<std::byte>(random() % 3 ? random() : 7));
    if (random() % 2) std::fill(p.fill.begin(), p.fill.end(), p.fill[0]);
  }
  Shape chunk, space;
  std::vector<std::uint64_t> steps;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::uint64_t extent = 1 + random() % (rank > 3 ? std::min<std::uint64_t>(longest, 7) : longest);
    Range range;
    range.step = random() % 3 ? 1 : static_cast<std::int64_t>(random() % 5) - 2;
    if (range.step == 0) range.step = 1;
    const auto stride = static_cast<std::uint64_t>(std::abs(range.step));
    const std::uint64_t most = (extent - 1) / stride + 1;
    range.count = random() % 3 ? most : random() % (most + 1);
    const std::uint64_t reach = range.count == 0 ? 0 : (range.count - 1) * stride;
    const std::uint64_t low = random() % (extent - reach);
    range.start = range.step > 0 ? low : low + reach;
    if (range.count <= 1 && random() % 2) range.step = INT64_MIN + 1;  // does not matter, must not overflow
    chunk.push_back(extent);
    p.part.push_back(range);
    steps.push_back(random() % 4 ? 1 : 1 + random() % 3);
    space.push_back(range.count * steps.back() + random() % 3 + 1);
  }
  std::uint64_t source_bytes = 0, target_bytes = 0;
  p.source_strides = random_order_strides(chunk, p.item_bytes, random, source_bytes);
  p.target_strides = random_order_strides(space, p.item_bytes, random, target_bytes);
  const std::size_t shift = random() % 3 ? 0 : random() % 9;  // odd addresses
  p.target_offset = shift;
  for (std::size_t d = 0; d < rank; ++d) {
    p.target_strides[d] *= static_cast<std::int64_t>(steps[d]);
    if (random() % 4 == 0 && p.part[d].count > 0) {  // backwards
      p.target_offset += static_cast<std::size_t>(p.target_strides[d]) * (p.part[d].count - 1);
      p.target_strides[d] = -p.target_strides[d];
    }
  }
  p.source.resize(source_bytes);
  for (std::byte& byte : p.source) byte = static_cast<std::byte>(random());
  p.target.assign(target_bytes + shift + 16, std::byte{0xA5});
  return p;
}

/// Element by element, byte by byte.
inline void naive_place(const RandomPlace& p, std::vector<std::byte>& target) {
  const std::size_t rank = p.part.size();
  std::vector<std::uint32_t> from(p.item_bytes);  // byte i of the element comes from byte from[i]
  std::iota(from.begin(), from.end(), 0);
  for (const SwapRun& run : p.swaps)
    for (std::uint32_t i = 0; i < run.count * run.unit_bytes; ++i)
      from[run.offset_bytes + i] =
          run.offset_bytes + (i / run.unit_bytes + 1) * run.unit_bytes - 1 - i % run.unit_bytes;
  std::vector<std::uint64_t> at(rank, 0);
  for (const Range& range : p.part)
    if (range.count == 0) return;
  for (;;) {
    std::int64_t source = 0, to = static_cast<std::int64_t>(p.target_offset);
    for (std::size_t d = 0; d < rank; ++d) {
      const std::int64_t step = p.part[d].count > 1 ? p.part[d].step : 0;
      source +=
          (static_cast<std::int64_t>(p.part[d].start) + static_cast<std::int64_t>(at[d]) * step) * p.source_strides[d];
      to += static_cast<std::int64_t>(at[d]) * p.target_strides[d];
    }
    for (std::uint32_t i = 0; i < p.item_bytes; ++i)
      target.at(static_cast<std::size_t>(to) + i) = p.absent ? (p.fill.empty() ? std::byte{0} : p.fill[i])
                                                             : p.source.at(static_cast<std::size_t>(source) + from[i]);
    std::size_t d = rank;
    while (d > 0 && ++at[d - 1] == p.part[d - 1].count) at[--d] = 0;
    if (d == 0) return;
  }
}

}  // namespace penstock::test
