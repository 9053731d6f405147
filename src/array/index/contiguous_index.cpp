#include "array/index/contiguous_index.hpp"

#include <algorithm>

#include "array/index/table_index.hpp"
#include "core/checked.hpp"

namespace penstock {
namespace {

/// The i-th dimension, the fastest first.
std::size_t from_fastest(const ContiguousVolume& volume, std::size_t i) {
  return volume.fastest == ContiguousVolume::Fastest::first ? i : volume.shape.size() - 1 - i;
}

}  // namespace

Result<std::unique_ptr<ContiguousIndex>> ContiguousIndex::make(ContiguousVolume volume, Shape chunk_shape) {
  const std::size_t rank = volume.shape.size();
  bool contiguous = chunk_shape.size() == rank;
  bool split = false;  // a dimension further in is not whole
  for (std::size_t i = 0; contiguous && i < rank; ++i) {
    const std::size_t d = from_fastest(volume, i);
    contiguous = chunk_shape[d] > 0 && (!split || chunk_shape[d] == 1);
    split = split || chunk_shape[d] < volume.shape[d];
  }
  if (!contiguous)
    return Error(ErrorCode::invalid_argument, volume.key + ": chunks " + to_string(chunk_shape) + " of a volume " +
                                                  to_string(volume.shape) + " are no contiguous parts of it");
  PENSTOCK_ASSIGN(const std::uint64_t elements, element_count(volume.shape));
  PENSTOCK_ASSIGN(const std::uint64_t bytes, checked_mul(elements, volume.item_bytes));
  PENSTOCK_TRY(checked_add(volume.offset_bytes, bytes));
  std::unique_ptr<ContiguousIndex> index(new ContiguousIndex(std::move(volume), std::move(chunk_shape)));
  auto stride = static_cast<std::int64_t>(index->volume_.item_bytes);
  index->strides_.resize(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t d = from_fastest(index->volume_, i);
    index->strides_[d] = stride;
    stride *= static_cast<std::int64_t>(std::max<std::uint64_t>(index->volume_.shape[d], 1));
  }
  index->holder_ = std::make_shared<const ChunkHolder>(ChunkHolder{index->volume_.key, {}, {}});
  return index;
}

Shape ContiguousIndex::slab_shape(const ContiguousVolume& volume, std::uint64_t max_bytes) {
  Shape slab(volume.shape.size(), 1);
  std::uint64_t bytes = std::max<std::uint64_t>(volume.item_bytes, 1);
  for (std::size_t i = 0; i < slab.size(); ++i) {
    const std::size_t d = from_fastest(volume, i);
    const std::uint64_t extent = std::max<std::uint64_t>(volume.shape[d], 1);
    slab[d] = std::clamp<std::uint64_t>(max_bytes / bytes, 1, extent);
    if (slab[d] < extent) break;
    bytes *= extent;
  }
  return slab;
}

Status ContiguousIndex::locate(const ChunkIds& chunks, Fetcher& /*fetcher*/, std::span<ChunkRef> out) const {
  const std::vector<char> cropped(volume_.shape.size(), 1);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    ChunkRef& ref = out[i];
    ref.state = ChunkRef::State::stored;
    ref.holder = holder_;
    ref.valid = valid_part(chunks[i], volume_.shape, chunk_shape_, cropped);
    ref.offset_bytes = volume_.offset_bytes;
    ref.size_bytes = volume_.item_bytes;
    for (std::size_t d = 0; d < chunk_shape_.size(); ++d) {
      ref.offset_bytes += chunks[i][d] * chunk_shape_[d] * static_cast<std::uint64_t>(strides_[d]);
      ref.size_bytes *= ref.valid.empty() ? chunk_shape_[d] : ref.valid[d];
    }
  }
  return {};
}

}  // namespace penstock
