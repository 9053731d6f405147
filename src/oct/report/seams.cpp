#include "oct/report/seams.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

namespace penstock::oct {
namespace {

constexpr std::int64_t kBeside = 4;                               // pixels from a jump that say how the image goes on
constexpr std::int64_t kOffsets[] = {-16, -13, -10, 10, 13, 16};  // of jumps that no edge makes
constexpr std::uint64_t kFewest = 8;                              // lines that an edge must cross

/// A line of edges in one direction, and the lines that cross it.
struct Edge {
  std::int64_t at = 0;
  std::uint64_t first = 0, last = 0;
};

/// How much further an image jumps from pixel `at` - 1 to `at` than it goes on beside it, averaged along the edge,
/// where noise averages out and a seam does not.
std::optional<double> jump(const Image& image, const Edge& edge, std::int64_t at, bool down) {
  const auto n = static_cast<std::int64_t>(down ? image.rows : image.cols);
  if (at < kBeside + 1 || at + kBeside + 1 > n) return std::nullopt;
  double sum = 0;
  std::uint64_t count = 0;
  for (std::uint64_t k = edge.first; k < std::min(edge.last, down ? image.cols : image.rows); ++k) {
    const auto value = [&](std::int64_t i) -> double {
      const auto u = static_cast<std::uint64_t>(i);
      return down ? image.at(u, k) : image.at(k, u);
    };
    double steps[3];
    bool all = true;
    for (const std::int64_t i : {-1, 0, 1}) {
      const double before = value(at + i * kBeside - 1), after = value(at + i * kBeside);
      all = all && before != 0 && after != 0 && std::isfinite(before) && std::isfinite(after);
      steps[i + 1] = after - before;
    }
    if (!all) continue;
    sum += steps[1] - (steps[0] + steps[2]) / 2;
    ++count;
  }
  if (count < kFewest) return std::nullopt;
  return std::abs(sum) / static_cast<double>(count);
}

}  // namespace

std::optional<double> seam_contrast(const Image& projection, const TileLayout& layout, std::uint64_t tile_rows,
                                    std::uint64_t tile_cols) {
  double across = 0, beside = 0;
  std::uint64_t edges = 0, others = 0;
  for (const bool down : {true, false}) {
    const auto side = static_cast<std::int64_t>(down ? tile_rows : tile_cols);
    std::vector<Edge> lines;
    for (std::size_t k = 0; k < layout.rows.size(); ++k) {
      const auto begin = static_cast<std::int64_t>(down ? layout.rows[k] : layout.cols[k]);
      const std::uint64_t first = down ? layout.cols[k] : layout.rows[k];
      for (const std::int64_t at : {begin, begin + side})
        lines.push_back({at, first, first + (down ? tile_cols : tile_rows)});
    }
    for (const Edge& edge : lines) {
      if (const auto here = jump(projection, edge, edge.at, down)) across += *here, ++edges;
      for (const std::int64_t offset : kOffsets) {
        const std::int64_t at = edge.at + offset;
        if (std::ranges::any_of(lines, [&](const Edge& other) { return std::abs(other.at - at) <= kBeside; })) continue;
        if (const auto there = jump(projection, edge, at, down)) beside += *there, ++others;
      }
    }
  }
  if (edges == 0 || others == 0 || !(beside > 0)) return std::nullopt;
  return (across / static_cast<double>(edges)) / (beside / static_cast<double>(others));
}

}  // namespace penstock::oct
