#include "cli/nodes/pieces.hpp"

#include <algorithm>

#include "core/checked.hpp"

namespace penstock::cli {

Pieces::Pieces(Region region, const Dataset& dataset, std::uint64_t max_bytes)
    : region_(std::move(region)), chunk_(dataset.chunk_shape) {
  for (const Range& r : region_) done_ = done_ || r.count == 0;
  if (done_) return;  // no element
  std::uint64_t row_bytes = std::max<std::uint64_t>(dataset.dtype.size_bytes, 1);
  // From the last axis to the first: how much one index along the axis takes.
  std::vector<std::uint64_t> row(region_.size(), UINT64_MAX);
  for (std::size_t d = region_.size(); d-- > 0;) {
    row[d] = row_bytes;
    const auto larger = checked_mul(row_bytes, region_[d].count);
    if (!larger) break;  // the axes before stay at UINT64_MAX: too large to be taken whole
    row_bytes = *larger;
  }
  while (axis_ + 1 < region_.size() && row[axis_] > max_bytes) ++axis_;
  if (!region_.empty()) max_rows_ = std::max<std::uint64_t>(max_bytes / row[axis_], 1);
  position_.assign(region_.empty() ? 0 : axis_ + 1, 0);
}

std::uint64_t Pieces::rows_from(std::uint64_t at) const {
  const Range& range = region_[axis_];
  const std::uint64_t left = range.count - at;
  std::uint64_t rows = std::min(max_rows_, left);
  if (rows < left && range.step == 1) {
    const std::uint64_t beyond = (range.start + at + rows) % chunk_[axis_];
    if (beyond < rows) rows -= beyond;
  }
  return rows;
}

std::optional<Region> Pieces::next() {
  if (done_) return std::nullopt;
  if (region_.empty()) {
    done_ = true;
    return region_;
  }
  Region piece = region_;
  const auto element = [&](std::size_t d, std::uint64_t i) {
    const Range& r = region_[d];
    return r.start + i * static_cast<std::uint64_t>(r.step);  // wraps to the right value for negative steps
  };
  for (std::size_t d = 0; d < axis_; ++d) piece[d] = {element(d, position_[d]), 1, 1};
  const std::uint64_t rows = rows_from(position_[axis_]);
  piece[axis_] = {element(axis_, position_[axis_]), rows, region_[axis_].step};
  position_[axis_] += rows;
  for (std::size_t d = axis_; position_[d] == region_[d].count; --d) {
    if (d == 0) {
      done_ = true;
      break;
    }
    position_[d] = 0;
    ++position_[d - 1];
  }
  return piece;
}

}  // namespace penstock::cli
