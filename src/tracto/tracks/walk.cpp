#include "tracto/tracks/walk.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "penstock/array.hpp"
#include "tracto/file/grid_check.hpp"
#include "tracto/run/volume.hpp"

namespace penstock::tracto {

double length_mm(std::span<const std::array<float, 3>> points) {
  double length = 0;
  for (std::size_t i = 1; i < points.size(); ++i) {
    double square = 0;
    for (std::size_t d = 0; d < 3; ++d) {
      const double step = static_cast<double>(points[i][d]) - static_cast<double>(points[i - 1][d]);
      square += step * step;
    }
    length += std::sqrt(square);
  }
  return length;
}

Result<TractogramSummary> walk(TractogramReader& reader, const Options& options,
                               const std::function<Status(const StreamlineBlock&)>& take) {
  const TractogramHead& head = reader.head();
  TractogramSummary out;
  out.format = head.format;
  out.number_type = head.number_type;
  out.names = head.names;
  if (head.grid) {
    out.dims = head.grid->dims;
    out.world_from_voxel = head.grid->world_from_voxel;
  }
  constexpr float kFar = std::numeric_limits<float>::infinity();
  std::array<float, 3> low = {kFar, kFar, kFar}, high = {-kFar, -kFar, -kFar};
  double shortest = std::numeric_limits<double>::infinity();
  for (StreamlineBlock block;;) {
    PENSTOCK_TRY(options.stop().check("reading streamlines"));
    PENSTOCK_TRY(reader.next(block));
    if (block.lengths.empty()) break;
    out.streamlines += block.lengths.size();
    out.points += block.points.size();
    for_each_line(block, [&](std::size_t, std::span<const std::array<float, 3>> points) {
      const double length = length_mm(points);
      shortest = std::min(shortest, length);
      out.max_length_mm = std::max(out.max_length_mm, length);
      out.mean_length_mm += length;
    });
    for (const auto& p : block.points)
      for (std::size_t d = 0; d < 3; ++d) {
        low[d] = std::min(low[d], p[d]);
        high[d] = std::max(high[d], p[d]);
      }
    if (take) PENSTOCK_TRY(take(block));
  }
  if (out.streamlines > 0) {
    out.min_length_mm = shortest;
    out.mean_length_mm /= static_cast<double>(out.streamlines);
  }
  if (out.points > 0) {
    out.box_first = low;
    out.box_last = high;
  }
  return out;
}

Result<ImageGrid> grid_of(const TractogramReader& reader, const std::string& path, const TractogramOptions& how) {
  if (how.reference.empty()) {
    if (reader.head().grid) return *reader.head().grid;
    return Error(ErrorCode::invalid_argument, path + ": does not say to which image its points belong")
        .set_hint("--reference IMAGE names it.");
  }
  return image_grid(how.reference);
}

}  // namespace penstock::tracto
