#include "array/write/chunk_blocks.hpp"

#include <algorithm>
#include <array>

#include "array/assemble/place.hpp"

namespace penstock {

ChunkPieces::ChunkPieces(Worker& worker, const Shape& shape, std::span<const std::int64_t> strides,
                         std::size_t item_bytes, const std::byte* from, ByteView whole)
    : worker_(worker),
      shape_(shape),
      strides_(strides),
      item_(item_bytes),
      from_(from),
      whole_(whole),
      size_(item_bytes) {
  for (const std::uint64_t extent : shape) size_ *= extent;  // the codec chain has checked that it fits
}

Result<ByteView> ChunkPieces::piece(std::uint64_t first, std::uint64_t count) {
  if (first > size_ || count > size_ - first || first % item_ != 0 || count % item_ != 0)
    return Error(ErrorCode::internal, "a piece of a chunk must be whole elements of it");
  if (!whole_.empty()) return whole_.subspan(first, count);
  if (first == gathered_first_ && count == gathered_count_) return worker_.decoded.view().first(count);
  const StageClock clock(worker_, Stage::assemble, Stage::encode);
  gathered_count_ = 0;
  PENSTOCK_TRY(worker_.decoded.resize_discard(count));
  PENSTOCK_TRY(gather(first / item_, (first + count) / item_, worker_.decoded.data()));
  gathered_first_ = first;
  gathered_count_ = count;
  return worker_.decoded.view();
}

/// Elements [first, end) in C order, as boxes: each as many neighbours along one axis as there are, with all that is
/// behind them.  At most two for each axis.
Status ChunkPieces::gather(std::uint64_t first, std::uint64_t end, std::byte* to) const {
  while (first < end) {
    std::size_t axis = shape_.size() - 1;
    std::uint64_t behind = 1;  // elements of one step along the axis
    for (; axis > 0; --axis) {
      const std::uint64_t all = behind * shape_[axis];
      if (first % all != 0 || end - first < all) break;
      behind = all;
    }
    const std::uint64_t left = shape_[axis] - first / behind % shape_[axis];
    const std::uint64_t count = std::min((end - first) / behind, left);
    PENSTOCK_TRY(copy_box(first, axis, count, to));
    first += count * behind;
    to += count * behind * item_;
  }
  return {};
}

/// `count` neighbours along `axis` from element `first` on, all of the axes behind it.
Status ChunkPieces::copy_box(std::uint64_t first, std::size_t axis, std::uint64_t count, std::byte* to) const {
  std::array<Range, kMaxRank> part;
  std::array<std::int64_t, kMaxRank> target_strides{};
  const std::size_t rank = shape_.size() - axis;
  PlaceItem item;
  item.source = from_;
  auto stride = static_cast<std::int64_t>(item_);
  for (std::size_t d = shape_.size(); d-- > 0; first /= shape_[d]) {
    item.source += static_cast<std::int64_t>(first % shape_[d]) * strides_[d];
    if (d < axis) continue;
    part[d - axis] = {0, d == axis ? count : shape_[d], 1};
    target_strides[d - axis] = stride;
    stride *= static_cast<std::int64_t>(shape_[d]);
  }
  item.source_strides = strides_.subspan(axis);
  item.part = {part.data(), rank};
  item.target = to;
  item.target_strides = {target_strides.data(), rank};
  item.item_bytes = static_cast<std::uint32_t>(item_);
  item.next_use = PlaceItem::NextUse::soon;
  return place_cpu(item);
}

}  // namespace penstock
