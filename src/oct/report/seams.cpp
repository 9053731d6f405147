#include "oct/report/seams.hpp"

#include <cmath>

namespace penstock::oct {
namespace {

constexpr std::uint64_t kBeside = 4;  // pixels from an edge that are compared with it

/// Sums of steps across an edge and beside it.
struct Steps {
  double across = 0, beside = 0;
  std::uint64_t count = 0;

  /// The edge between index at - 1 and at of a line of `n` pixels, each `value(k)`.
  template <class Value>
  void add(std::uint64_t at, std::uint64_t n, const Value& value) {
    if (at < kBeside + 1 || at + kBeside + 1 > n) return;
    const double before[2] = {value(at - kBeside - 1), value(at - kBeside)};
    const double edge[2] = {value(at - 1), value(at)};
    const double after[2] = {value(at + kBeside - 1), value(at + kBeside)};
    for (const double* v : {before, edge, after})
      if (v[0] == 0 || v[1] == 0 || !std::isfinite(v[0]) || !std::isfinite(v[1])) return;
    // Signed, so that noise averages out along an edge and a step does not.
    across += edge[1] - edge[0];
    beside += (before[1] - before[0] + after[1] - after[0]) / 2;
    ++count;
  }
};

}  // namespace

std::optional<double> seam_contrast(const Image& projection, const TileLayout& layout, std::uint64_t tile_rows,
                                    std::uint64_t tile_cols) {
  double across = 0, beside = 0;
  std::uint64_t edges = 0;
  const auto take = [&](const Steps& steps) {
    if (steps.count < 8) return;
    across += std::abs(steps.across) / static_cast<double>(steps.count);
    beside += std::abs(steps.beside) / static_cast<double>(steps.count);
    ++edges;
  };
  for (std::size_t k = 0; k < layout.rows.size(); ++k) {
    const std::uint64_t top = layout.rows[k], left = layout.cols[k];
    for (const std::uint64_t row : {top, top + tile_rows}) {
      Steps steps;
      for (std::uint64_t c = left; c < std::min(left + tile_cols, projection.cols); ++c)
        steps.add(row, projection.rows, [&](std::uint64_t r) { return projection.at(r, c); });
      take(steps);
    }
    for (const std::uint64_t col : {left, left + tile_cols}) {
      Steps steps;
      for (std::uint64_t r = top; r < std::min(top + tile_rows, projection.rows); ++r)
        steps.add(col, projection.cols, [&](std::uint64_t c) { return projection.at(r, c); });
      take(steps);
    }
  }
  if (edges == 0 || !(beside > 0)) return std::nullopt;
  return across / beside;
}

}  // namespace penstock::oct
