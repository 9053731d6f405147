// What steps do with the elements of a tile (planes, rows, columns), written once for every processor.
//
// A task is some neighbouring columns of a tile, or some neighbouring pixels of one of its planes.
#pragma once
#include <cmath>
#include <cstdint>

#include "device/portable.hpp"
#include "ops/select/kernel.hpp"

namespace penstock::oct::tiles {

inline constexpr std::uint32_t kLanes = 64;  ///< parts of a sum over the pixels of a plane

/// How many tasks of `width` pixels a plane has.
PENSTOCK_HD std::uint64_t groups_of(std::uint64_t pixels, int width) {
  const auto w = static_cast<std::uint64_t>(width);
  return (pixels + w - 1) / w;
}
/// Pixels [first, first + width) of a task.
struct Span {
  std::uint64_t first;
  int width;
  PENSTOCK_HD Span(std::uint64_t group, std::uint64_t pixels, int most)
      : first(group * static_cast<std::uint64_t>(most)),
        width(pixels - first < static_cast<std::uint64_t>(most) ? static_cast<int>(pixels - first) : most) {}
};

/// The mean over depth of each column, and whether it holds anything but 0.
struct ColumnMeans {
  const float* in;
  std::uint64_t depth, pixels;
  float* mean;
  std::uint8_t* holds;

  [[nodiscard]] PENSTOCK_HD std::uint64_t count(int width) const { return groups_of(pixels, width); }
  PENSTOCK_HD void operator()(std::uint64_t i) const { at<1>(i); }
  template <int kWidth>
  PENSTOCK_HD void at(std::uint64_t i) const {
    const Span span(i, pixels, kWidth);
    double sum[kWidth] = {};
    bool any[kWidth] = {};
    for (std::uint64_t z = 0; z < depth; ++z) {
      const float* const line = in + z * pixels + span.first;
      for (int w = 0; w < span.width; ++w) {
        sum[w] += static_cast<double>(line[w]);
        any[w] = any[w] || line[w] != 0;
      }
    }
    for (int w = 0; w < span.width; ++w) {
      mean[span.first + static_cast<std::uint64_t>(w)] = static_cast<float>(sum[w] / static_cast<double>(depth));
      holds[span.first + static_cast<std::uint64_t>(w)] = any[w] ? 1 : 0;
    }
  }
};

/// Elements divided by a field of one plane or of each; what is not above 0 becomes 0.
struct Divide {
  const float* in;
  const float* field;
  std::uint64_t depth, pixels, field_planes;
  float* out;

  [[nodiscard]] PENSTOCK_HD std::uint64_t count(int width) const { return depth * groups_of(pixels, width); }
  PENSTOCK_HD void operator()(std::uint64_t i) const { at<1>(i); }
  template <int kWidth>
  PENSTOCK_HD void at(std::uint64_t i) const {
    const std::uint64_t groups = groups_of(pixels, kWidth), z = i / groups;
    const Span span(i % groups, pixels, kWidth);
    const float* const from = in + z * pixels + span.first;
    const float* const f = field + z % field_planes * pixels + span.first;
    float* const to = out + z * pixels + span.first;
    for (int w = 0; w < span.width; ++w) {
      const float v = from[w] / f[w];
      to[w] = v > 0 ? v : 0;  // NaN too
    }
  }
};

/// Columns moved up by a map: between planes linearly, the first and the last held; or by whole planes, around the end.
struct MoveColumns {
  const float* in;
  const double* map;
  std::uint64_t depth, pixels;
  bool whole_planes;
  float* out;

  [[nodiscard]] PENSTOCK_HD std::uint64_t count(int width) const { return depth * groups_of(pixels, width); }
  PENSTOCK_HD void operator()(std::uint64_t i) const { at<1>(i); }
  template <int kWidth>
  PENSTOCK_HD void at(std::uint64_t i) const {
    const std::uint64_t groups = groups_of(pixels, kWidth), z = i / groups;
    const Span span(i % groups, pixels, kWidth);
    float* const to = out + z * pixels + span.first;
    for (int w = 0; w < span.width; ++w) {
      const float* const column = in + span.first + static_cast<std::uint64_t>(w);
      to[w] = moved(column, z, map[span.first + static_cast<std::uint64_t>(w)]);
    }
  }

 private:
  [[nodiscard]] PENSTOCK_HD float moved(const float* column, std::uint64_t z, double by) const {
    if (whole_planes) {
      const auto n = static_cast<std::int64_t>(depth), steps = static_cast<std::int64_t>(by);
      return column[static_cast<std::uint64_t>((static_cast<std::int64_t>(z) + steps % n + n) % n) * pixels];
    }
    const double last = static_cast<double>(depth - 1), at = static_cast<double>(z) + by;
    const double from = at < 0 ? 0 : at > last ? last : at;
    const auto low = static_cast<std::uint64_t>(from);
    const std::uint64_t high = low + 1 < depth ? low + 1 : depth - 1;
    const auto w = static_cast<float>(from - static_cast<double>(low));
    return column[low * pixels] + w * (column[high * pixels] - column[low * pixels]);
  }
};

/// Parts of the sum over each plane, of the pixels that a mask holds, where they are finite: index (depth, kLanes).
struct PlaneSums {
  const float* in;
  const std::uint8_t* mask;
  std::uint64_t pixels;
  double* sums;
  PENSTOCK_HD void operator()(std::uint64_t i) const {
    const float* const plane = in + i / kLanes * pixels;
    double sum = 0;
    for (std::uint64_t x = i % kLanes; x < pixels; x += kLanes) {
      const float v = plane[x];
      if (mask[x] != 0 && v - v == 0) sum += static_cast<double>(v);
    }
    sums[i] = sum;
  }
};

/// Each plane from `low` to `low + span`, cut off at `high`, to 0 to 1.
struct ScalePlanes {
  const float* in;
  const double* low;
  const double* high;
  const double* span;
  std::uint64_t depth, pixels;
  float* out;

  [[nodiscard]] PENSTOCK_HD std::uint64_t count(int width) const { return depth * groups_of(pixels, width); }
  PENSTOCK_HD void operator()(std::uint64_t i) const { at<1>(i); }
  template <int kWidth>
  PENSTOCK_HD void at(std::uint64_t i) const {
    const std::uint64_t groups = groups_of(pixels, kWidth), z = i / groups;
    const Span part(i % groups, pixels, kWidth);
    const float* const from = in + z * pixels + part.first;
    float* const to = out + z * pixels + part.first;
    const double l = low[z], h = high[z], s = span[z];
    for (int w = 0; w < part.width; ++w) {
      const auto v = static_cast<double>(from[w]);
      to[w] = s > 0 && v > l ? static_cast<float>(((v < h ? v : h) - l) / s) : 0.0F;
    }
  }
};

/// Counts elements by the digits of their value, each plane by itself or all together: index (planes, pixels).
struct CountDigits {
  const float* in;           ///< of the first plane that counts
  const std::uint8_t* mask;  ///< pixels that count; nullptr: all
  std::uint64_t pixels;
  bool by_plane;
  bool skips;  ///< what is not finite does not count; else it counts as 0
  /// The higher digits that are looked for, `prefixes` of each group; nullptr: the higher digits are counted.
  const std::uint32_t* prefix;
  std::uint32_t prefixes;
  std::uint64_t* counts;  ///< (groups, prefixes, 65536)

  PENSTOCK_HD void operator()(std::uint64_t i) const {
    const std::uint64_t z = i / pixels, x = i % pixels, group = by_plane ? z : 0;
    if (mask != nullptr && mask[x] == 0) return;
    float v = in[i];
    if (!(v - v == 0)) {
      if (skips) return;
      v = 0;
    }
    const std::uint32_t key = select::key_of(v), high = key >> 16;
    if (prefix == nullptr) {
      atomic_add(&counts[(group << 16) + high], 1U);
      return;
    }
    for (std::uint32_t p = 0; p < prefixes; ++p)
      if (prefix[group * prefixes + p] == high)
        atomic_add(&counts[((group * prefixes + p) << 16) + (key & 0xffff)], 1U);
  }
};

/// NaN and infinite elements become 0.
struct OnlyFinite {
  float* values;
  PENSTOCK_HD void operator()(std::uint64_t i) const {
    if (!(values[i] - values[i] == 0)) values[i] = 0;
  }
};

/// One value at every index.
struct Fill {
  float* to;
  float value;
  PENSTOCK_HD void operator()(std::uint64_t i) const { to[i] = value; }
};

}  // namespace penstock::oct::tiles

#define PENSTOCK_OCT_TILE_JOBS(M)                                                                            \
  M(tiles::ColumnMeans)                                                                                      \
  M(tiles::Divide)                                                                                           \
  M(tiles::MoveColumns) M(tiles::PlaneSums) M(tiles::ScalePlanes) M(tiles::CountDigits) M(tiles::OnlyFinite) \
      M(tiles::Fill)
