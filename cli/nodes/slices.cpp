#include "cli/nodes/slices.hpp"

#include <algorithm>

#include "core/checked.hpp"

namespace penstock::cli {

Slices::Slices(Region region, const Dataset& dataset)
    : region_(std::move(region)),
      chunk_(dataset.chunk_shape),
      index_bytes_(region_.size(), UINT64_MAX),
      position_(region_.size(), 0) {
  for (const Range& r : region_) done_ = done_ || r.count == 0;
  std::uint64_t bytes = std::max<std::uint64_t>(dataset.dtype.size_bytes, 1);
  for (std::size_t d = region_.size(); d-- > 0;) {
    index_bytes_[d] = bytes;
    const auto larger = checked_mul(bytes, region_[d].count);
    if (!larger) break;  // the axes before stay at UINT64_MAX: too large to be taken whole
    bytes = *larger;
  }
}

std::uint64_t Slices::chunk_row_bytes() const {
  for (std::size_t d = 0; d < region_.size(); ++d)
    if (region_[d].count > 1) {  // an index before it takes no more than one
      const auto bytes = checked_mul(index_bytes_[d], std::min(chunk_[d], region_[d].count));
      return bytes ? *bytes : UINT64_MAX;
    }
  return 1;
}

/// The first axis of which an index fits, unless an earlier slice has ended inside one.
std::size_t Slices::axis_for(std::uint64_t max_bytes) const {
  std::size_t first = 0;
  for (std::size_t d = 0; d < position_.size(); ++d)
    if (position_[d] > 0) first = d;
  while (first + 1 < region_.size() && index_bytes_[first] > max_bytes) ++first;
  return first;
}

std::uint64_t Slices::rows_from(std::size_t axis, std::uint64_t max_rows) const {
  const Range& range = region_[axis];
  const std::uint64_t left = range.count - position_[axis];
  std::uint64_t rows = std::min(max_rows, left);
  if (rows < left && range.step == 1) {
    const std::uint64_t beyond = (range.start + position_[axis] + rows) % chunk_[axis];
    if (beyond < rows) rows -= beyond;
  }
  return rows;
}

void Slices::advance(std::size_t axis, std::uint64_t rows) {
  position_[axis] += rows;
  for (std::size_t d = axis; position_[d] == region_[d].count; --d) {
    if (d == 0) {
      done_ = true;
      return;
    }
    position_[d] = 0;
    ++position_[d - 1];
  }
}

std::optional<Region> Slices::next(std::uint64_t max_bytes) {
  if (done_) return std::nullopt;
  Region slice = region_;
  if (region_.empty()) {
    done_ = true;
    return slice;
  }
  const auto element = [&](std::size_t d, std::uint64_t i) {
    const Range& r = region_[d];
    return r.start + i * static_cast<std::uint64_t>(r.step);  // wraps to the right value for negative steps
  };
  const std::size_t axis = axis_for(max_bytes);
  const std::uint64_t rows = rows_from(axis, std::max<std::uint64_t>(max_bytes / index_bytes_[axis], 1));
  for (std::size_t d = 0; d < axis; ++d) slice[d] = {element(d, position_[d]), 1, 1};
  slice[axis] = {element(axis, position_[axis]), rows, region_[axis].step};
  advance(axis, rows);
  return slice;
}

}  // namespace penstock::cli
