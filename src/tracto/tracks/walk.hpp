// Going through a file of streamlines once.
#pragma once
#include <functional>

#include "penstock/tractogram.hpp"
#include "tracto/file/reader.hpp"

namespace penstock::tracto {

/// Length along a streamline, mm.
double length_mm(std::span<const std::array<float, 3>> points);
/// The points of each streamline of a block: take(number in the block, points).
template <class Take>
void for_each_line(const StreamlineBlock& block, const Take& take) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < block.lengths.size(); at += block.lengths[i++])
    take(i, std::span(block.points).subspan(at, block.lengths[i]));
}
/// Calls take(block) with each, and sums up.  Errors: those of the reader and of `take`, cancelled.
Result<TractogramSummary> walk(TractogramReader& reader, const Options& options,
                               const std::function<Status(const StreamlineBlock&)>& take);
/// The grid of `reference`, else that of the file.  Errors: invalid_argument (neither), those of the image.
Result<ImageGrid> grid_of(const TractogramReader& reader, const std::string& path, const TractogramOptions& how);

}  // namespace penstock::tracto
