#include "oct/simulate/amounts.hpp"

#include <algorithm>
#include <cmath>

namespace penstock::oct {
namespace {

constexpr std::uint64_t kElement = sizeof(float), kDepth = sizeof(double);

std::uint64_t whole_pixels(double length) { return static_cast<std::uint64_t>(std::ceil(length)); }

/// Planes that are left when what lies above the tissue is cut off.
std::uint64_t planes_kept(const SubjectSlice& slice) {
  const double cut = std::clamp(std::nearbyint(slice.surface), 0.0, static_cast<double>(slice.planes - 1));
  return slice.planes - static_cast<std::uint64_t>(cut);
}

std::uint64_t tiles_there(const Subject& s, std::uint64_t slice) {
  std::uint64_t count = 0;
  for (std::uint64_t i = 0; i < s.size.rows; ++i)
    for (std::uint64_t j = 0; j < s.size.cols; ++j) count += s.has_tile(slice, i, j) ? 1 : 0;
  return count;
}

}  // namespace

SharedImage shared_image(const Subject& s, double rows, double cols) {
  double top = s.slices[0].row, left = s.slices[0].col, bottom = top, right = left;
  for (const SubjectSlice& slice : s.slices) {
    top = std::min(top, slice.row), left = std::min(left, slice.col);
    bottom = std::max(bottom, slice.row), right = std::max(right, slice.col);
  }
  return {top, left, whole_pixels(bottom - top + rows), whole_pixels(right - left + cols)};
}

Result<SubjectAmounts> amounts_of(const Subject& s) {
  const std::uint64_t n = s.size.tile, lines = n + s.size.n_extra, columns = s.size.rows * n * s.size.cols * n;
  PENSTOCK_ASSIGN(const TileLayout layout, layout_of(s.tiles, s.size.rows, s.size.cols, n, n));
  const SharedImage image = shared_image(s, static_cast<double>(layout.height), static_cast<double>(layout.width)),
                    world = shared_image(s, s.extent_rows(), s.extent_cols());
  const std::uint64_t clean = whole_pixels(s.extent_rows()) * whole_pixels(s.extent_cols());
  SubjectAmounts all;
  std::uint64_t deepest = 0;
  for (std::uint64_t k = 0; k < s.slices.size(); ++k) {
    const SubjectSlice& slice = s.slices[k];
    if (slice.missing) continue;
    const std::uint64_t kept = planes_kept(slice), stitched = layout.height * layout.width;
    all.raw_bytes += kElement * tiles_there(s, k) * n * lines * slice.planes;
    all.truth_bytes += kElement * slice.planes * (columns + clean) + kDepth * clean;
    all.working_bytes += kElement * (columns * (2 * slice.planes + 1) + stitched * (slice.planes + kept) +
                                     image.rows * image.cols * kept);
    deepest = std::max(deepest, k * s.size.interval + kept);
  }
  all.truth_bytes += kElement * (s.size.interval * (s.size.slices - 1) + s.size.planes) * world.rows * world.cols;
  all.volume = {deepest, image.rows, image.cols};
  all.volume_bytes = kElement * deepest * image.rows * image.cols;
  return all;
}

}  // namespace penstock::oct
