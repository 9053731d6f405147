#include "array/index/contiguous_index.hpp"

#include <algorithm>

#include "core/checked.hpp"

namespace penstock {

Result<std::unique_ptr<ContiguousIndex>> ContiguousIndex::make(const ContiguousChunks& volume, Shape shape,
                                                               Shape chunk_shape, std::uint64_t item_bytes) {
  const std::size_t rank = shape.size();
  const auto from_fastest = [&](std::size_t i) {
    return volume.fastest == ContiguousChunks::Fastest::first ? i : rank - 1 - i;
  };
  bool contiguous = chunk_shape.size() == rank;
  bool split = false;  // a dimension further in is not whole
  for (std::size_t i = 0; contiguous && i < rank; ++i) {
    const std::size_t d = from_fastest(i);
    contiguous = chunk_shape[d] > 0 && (!split || chunk_shape[d] == 1);
    split = split || chunk_shape[d] < shape[d];
  }
  if (!contiguous)
    return Error(ErrorCode::invalid_argument, volume.key + ": chunks " + to_string(chunk_shape) + " of a volume " +
                                                  to_string(shape) + " are no contiguous parts of it");
  PENSTOCK_ASSIGN(const std::uint64_t elements, element_count(shape));
  PENSTOCK_ASSIGN(const std::uint64_t bytes, checked_mul(elements, item_bytes));
  PENSTOCK_TRY(checked_add(volume.offset_bytes, bytes));
  std::unique_ptr<ContiguousIndex> index(new ContiguousIndex());
  index->strides_.resize(rank);
  std::uint64_t stride = item_bytes;
  for (std::size_t i = 0; i < rank; ++i) {
    index->strides_[from_fastest(i)] = stride;
    stride *= std::max<std::uint64_t>(shape[from_fastest(i)], 1);
  }
  index->offset_bytes_ = volume.offset_bytes;
  index->item_bytes_ = item_bytes;
  index->shape_ = std::move(shape);
  index->chunk_shape_ = std::move(chunk_shape);
  index->holder_ = std::make_shared<const ChunkHolder>(ChunkHolder{volume.key, {}, {}});
  return index;
}

Status ContiguousIndex::locate(const ChunkIds& chunks, Fetcher& /*fetcher*/, std::span<ChunkRef> out) const {
  const std::vector<bool> cropped(shape_.size(), true);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    ChunkRef& ref = out[i];
    ref.state = ChunkRef::State::stored;
    ref.holder = holder_;
    ref.valid = valid_part(chunks[i], shape_, chunk_shape_, cropped);
    ref.offset_bytes = offset_bytes_;
    ref.size_bytes = item_bytes_;
    for (std::size_t d = 0; d < chunk_shape_.size(); ++d) {
      ref.offset_bytes += chunks[i][d] * chunk_shape_[d] * strides_[d];
      ref.size_bytes *= ref.valid.empty() ? chunk_shape_[d] : ref.valid[d];
    }
  }
  return {};
}

}  // namespace penstock
