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

/// How much further an image jumps from pixel `at` - 1 to `at` than it goes on beside it, averaged along the edge,
/// where noise averages out and a seam does not.
std::optional<double> jump(const Image& image, const TileEdge& edge, std::int64_t at) {
  const bool down = edge.down;
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

/// Both sides of each tile that one crosses along rows, or along columns.
std::vector<TileEdge> edges_of(const TileLayout& layout, std::uint64_t tile_rows, std::uint64_t tile_cols, bool down) {
  std::vector<TileEdge> edges;
  for (std::size_t k = 0; k < layout.rows.size(); ++k) {
    const std::uint64_t begin = down ? layout.rows[k] : layout.cols[k];
    const std::uint64_t first = down ? layout.cols[k] : layout.rows[k];
    for (const std::uint64_t at : {begin, begin + (down ? tile_rows : tile_cols)})
      edges.push_back({down, static_cast<std::int64_t>(at), first, first + (down ? tile_cols : tile_rows)});
  }
  return edges;
}

struct Jumps {
  double sum = 0, largest = 0;
  std::uint64_t count = 0;
  bool take(double jump) {
    sum += jump, ++count;
    const bool most = jump > largest;
    if (most) largest = jump;
    return most;
  }
  [[nodiscard]] double mean() const { return sum / static_cast<double>(count); }
};

}  // namespace

std::optional<Seams> find_seams(const Image& projection, const TileLayout& layout, std::uint64_t tile_rows,
                                std::uint64_t tile_cols) {
  Jumps across, beside;
  Seams seams;
  for (const bool down : {true, false}) {
    const std::vector<TileEdge> edges = edges_of(layout, tile_rows, tile_cols, down);
    for (const TileEdge& edge : edges) {
      const auto here = jump(projection, edge, edge.at);
      if (here && across.take(*here)) seams.at = edge;
      for (const std::int64_t offset : kOffsets) {
        const std::int64_t at = edge.at + offset;
        if (std::ranges::any_of(edges, [&](const TileEdge& other) { return std::abs(other.at - at) <= kBeside; }))
          continue;
        if (const auto there = jump(projection, edge, at)) beside.take(*there);
      }
    }
  }
  if (across.count == 0 || beside.count == 0 || !(beside.sum > 0)) return std::nullopt;
  seams.contrast = across.mean() / beside.mean();
  seams.worst = across.largest / beside.largest;
  return seams;
}

}  // namespace penstock::oct
