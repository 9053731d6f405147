#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>

#include "oct/illumination/flat_field.hpp"
#include "oct/transform/pairs.hpp"

namespace penstock::oct {
namespace {

constexpr int kDegree = 3;
constexpr int kModes = 9;        // products of Legendre polynomials up to that degree, without the constant
constexpr double kPrior = 1e-4;  // of a pixel's weight: keeps what no overlap says at 0

using Row = Eigen::Matrix<double, kModes, 1>;

/// All modes at a pixel of a tile.
Row modes_at(std::uint64_t r, std::uint64_t c, const TileGrid& grid) {
  const auto legendre = [](std::uint64_t i, std::uint64_t n) {
    const double x = (2 * static_cast<double>(i) + 1) / static_cast<double>(n) - 1;
    return std::array<double, kDegree + 1>{1, x, (3 * x * x - 1) / 2, (5 * x * x - 3) * x / 2};
  };
  const auto y = legendre(r, grid.tile_rows), x = legendre(c, grid.tile_cols);
  Row row;
  int k = 0;
  for (std::size_t a = 0; a <= kDegree; ++a)
    for (std::size_t b = 0; a + b <= kDegree; ++b)
      if (a + b > 0) row[k++] = y[a] * x[b];
  return row;
}

/// Adds the equations of one overlap: log of the one less log of the other is that of the field at the two places.
void add_pair(const Image& a, const Image& b, const Offset& offset, const std::vector<Row>& modes,
              Eigen::Matrix<double, kModes, kModes>& normal, Row& right) {
  const std::int64_t dr = std::llround(offset.row), dc = std::llround(offset.col);
  const auto rows = static_cast<std::int64_t>(a.rows), cols = static_cast<std::int64_t>(a.cols);
  for (std::int64_t r = std::max<std::int64_t>(dr, 0); r < std::min(rows, rows + dr); ++r)
    for (std::int64_t c = std::max<std::int64_t>(dc, 0); c < std::min(cols, cols + dc); ++c) {
      const auto here = static_cast<std::size_t>(r * cols + c),
                 there = static_cast<std::size_t>((r - dr) * cols + c - dc);
      const float p = a.values[here], q = b.values[there];
      if (!(p > 0) || !(q > 0) || !std::isfinite(p) || !std::isfinite(q)) continue;
      const Row difference = modes[here] - modes[there];
      normal.selfadjointView<Eigen::Lower>().rankUpdate(difference);
      right += difference * std::log(static_cast<double>(p) / static_cast<double>(q));
    }
}

}  // namespace

Result<FlatField> overlap_flat_field(const Image& measured, const TileGrid& grid, const Options& options) {
  PENSTOCK_ASSIGN(const Image projection, without_saturated(measured, options));
  PENSTOCK_ASSIGN(const Pairs pairs, find_pairs(projection, grid, {}, options));
  FlatField field{grid.tile_rows, grid.tile_cols, std::vector<double>(grid.tile_rows * grid.tile_cols, 1.0),
                  grid.count(), pairs.found.size()};
  if (pairs.found.empty()) return field;
  std::vector<Row> modes;
  modes.reserve(field.values.size());
  for (std::uint64_t r = 0; r < grid.tile_rows; ++r)
    for (std::uint64_t c = 0; c < grid.tile_cols; ++c) modes.push_back(modes_at(r, c, grid));
  Eigen::Matrix<double, kModes, kModes> normal = Eigen::Matrix<double, kModes, kModes>::Zero();
  Row right = Row::Zero();
  for (const Pair& p : pairs.found)
    add_pair(tile_of(projection, grid, p.i, p.j),
             tile_of(projection, grid, p.i + (p.down ? 1 : 0), p.j + (p.down ? 0 : 1)), p.offset, modes, normal, right);
  normal.diagonal().array() += kPrior * static_cast<double>(field.values.size());
  const Row weights = normal.selfadjointView<Eigen::Lower>().ldlt().solve(right);
  double mean = 0;
  for (std::size_t i = 0; i < field.values.size(); ++i) {
    field.values[i] = std::exp(weights.dot(modes[i]));
    mean += field.values[i] / static_cast<double>(field.values.size());
  }
  if (!std::isfinite(mean) || !(mean > 0)) return Error(ErrorCode::corrupt_data, "the overlaps give no finite field");
  for (double& v : field.values) v /= mean;
  return field;
}

}  // namespace penstock::oct
