#include "array/grid.hpp"

#include <algorithm>

#include "core/checked.hpp"

namespace penstock {
namespace {

std::uint64_t magnitude(std::int64_t step) {
  return step > 0 ? static_cast<std::uint64_t>(step) : std::uint64_t{0} - static_cast<std::uint64_t>(step);
}

}  // namespace

DimPartition::DimPartition(const Range& range, std::uint64_t chunk)
    : range_(range), chunk_(chunk), stride_(magnitude(range.step)) {
  if (range.count == 0) return;
  first_ = range.start / chunk;
  one_by_one_ = stride_ > chunk;
  if (one_by_one_) {
    size_ = range.count;
    return;
  }
  const std::uint64_t span = (range.count - 1) * stride_;
  const std::uint64_t last = range.step > 0 ? range.start + span : range.start - span;
  const std::uint64_t a = first_, b = last / chunk;
  size_ = (a < b ? b - a : a - b) + 1;
}

ChunkSlice DimPartition::operator[](std::uint64_t k) const {
  ChunkSlice s;
  if (one_by_one_) {
    const std::uint64_t at = range_.step > 0 ? range_.start + k * stride_ : range_.start - k * stride_;
    s.chunk = at / chunk_;
    s.local_start = at % chunk_;
    s.count = 1;
    s.out_start = k;
    return s;
  }
  // No step is longer than a chunk, so every chunk between the first and the last holds at least one element.
  s.step = range_.step;
  if (range_.step == 1) {  // the usual case, without a division
    s.chunk = first_ + k;
    const std::uint64_t low = s.chunk * chunk_;
    s.out_start = low <= range_.start ? 0 : low - range_.start;
    s.local_start = low <= range_.start ? range_.start - low : 0;
    s.count = std::min(chunk_ - s.local_start, range_.count - s.out_start);
    return s;
  }
  const std::uint64_t first = first_;
  std::uint64_t past = 0;  // number of elements of the region up to the end of this chunk
  if (range_.step > 0) {
    s.chunk = first + k;
    const std::uint64_t low = s.chunk * chunk_;
    s.out_start = low <= range_.start ? 0 : div_up(low - range_.start, stride_);
    past = (low + (chunk_ - 1) - range_.start) / stride_ + 1;
  } else {
    s.chunk = first - k;
    const std::uint64_t low = s.chunk * chunk_;
    const std::uint64_t high = low + (chunk_ - 1);
    s.out_start = high >= range_.start ? 0 : div_up(range_.start - high, stride_);
    past = (range_.start - low) / stride_ + 1;
  }
  s.count = std::min(past, range_.count) - s.out_start;
  const std::uint64_t walked = s.out_start * stride_;
  s.local_start = (range_.step > 0 ? range_.start + walked : range_.start - walked) % chunk_;
  return s;
}

Result<GridPartition> GridPartition::make(const Region& region, std::span<const std::uint64_t> chunk_shape) {
  GridPartition cut;
  bool empty = false;
  for (std::size_t i = 0; i < region.size(); ++i) {
    cut.dims_.emplace_back(region[i], chunk_shape[i]);
    empty = empty || cut.dims_.back().size() == 0;
  }
  if (empty) {
    cut.size_ = 0;
    return cut;
  }
  for (const DimPartition& d : cut.dims_) {
    PENSTOCK_ASSIGN(cut.size_, checked_mul(cut.size_, d.size()));
  }
  return cut;
}

void GridPartition::get(std::uint64_t i, std::span<ChunkSlice> out) const {
  for (std::size_t d = dims_.size(); d-- > 0;) {
    const std::uint64_t n = dims_[d].size();
    out[d] = dims_[d][i % n];
    i /= n;
  }
}

}  // namespace penstock
