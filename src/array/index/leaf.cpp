#include "array/index/leaf.hpp"

#include <fmt/format.h>

#include "array/read/region_reader.hpp"

namespace penstock {

Result<ShardIndexCache::Index> shard_index(Array::State& state, Worker& worker, const Object& object,
                                           std::uint64_t offset_bytes, std::uint64_t size_bytes,
                                           const ShardingCodec& sharding, const std::string& name) {
  const std::uint64_t version = object.version();
  if (version != 0)
    if (auto index = state.indexes.find(name, version)) return index;
  const std::uint64_t bytes = sharding.index_bytes();
  if (size_bytes < bytes)
    return Error(ErrorCode::corrupt_data,
                 fmt::format("the shard has {} bytes, its index alone takes {}", size_bytes, bytes));
  const StageClock clock(worker, Stage::fetch);
  worker.requests += 1;
  worker.stored_bytes += bytes;
  const bool at_end = sharding.index_location() == ShardingCodec::IndexLocation::end;
  PENSTOCK_TRY(worker.encoded.resize_discard(bytes));
  PENSTOCK_TRY(object.read(offset_bytes + (at_end ? size_bytes - bytes : 0), worker.encoded.span()));
  PENSTOCK_ASSIGN(std::vector<ShardEntry> entries, sharding.decode_index(worker.encoded, size_bytes));
  auto index = std::make_shared<const std::vector<ShardEntry>>(std::move(entries));
  if (version != 0) state.indexes.insert(name, version, index);
  return index;
}

Result<LeafFinder> LeafFinder::make(std::shared_ptr<Array::State> state, std::shared_ptr<const ArrayView> view,
                                    const Region& region) {
  LeafFinder finder;
  PENSTOCK_ASSIGN(finder.cut_, GridPartition::make(region, innermost(view->chain).decoded().shape));
  finder.state_ = std::move(state);
  finder.view_ = std::move(view);
  return finder;
}

Status LeafFinder::open(std::string key) {
  if (have_open_ && key == open_key_) return {};
  have_open_ = false;
  PENSTOCK_ASSIGN(open_object_, state_->store->open(key));
  open_key_ = std::move(key);
  have_open_ = true;
  return {};
}

Status LeafFinder::find(std::uint64_t i, Worker& worker, Leaf& leaf) {
  const std::span<ChunkSlice> segments(leaf.segments.data(), cut_.rank());
  cut_.get(i, segments);
  std::array<std::uint64_t, kMaxRank> chunk{};  // coordinates of the innermost chunk in the whole array
  for (std::size_t d = 0; d < segments.size(); ++d) chunk[d] = segments[d].chunk;
  return descend(chunk, worker, leaf);
}

Status LeafFinder::descend(const std::array<std::uint64_t, kMaxRank>& chunk, Worker& worker, Leaf& leaf) {
  const Dataset& dataset = view_->dataset;
  const std::size_t rank = dataset.rank();
  const Shape& leaf_shape = innermost(view_->chain).decoded().shape;
  std::array<std::uint64_t, kMaxRank> origin{}, outer{};  // element where the leaf begins; chunk of the object
  for (std::size_t d = 0; d < rank; ++d) {
    origin[d] = chunk[d] * leaf_shape[d];
    outer[d] = origin[d] / dataset.chunk_shape[d];
    origin[d] %= dataset.chunk_shape[d];
  }
  leaf.name = state_->key(dataset, {outer.data(), rank});
  {
    const StageClock clock(worker, Stage::fetch);
    PENSTOCK_TRY_IN(open(leaf.name), state_->store->url());
  }
  leaf.object = open_object_;
  if (!leaf.object) return {};
  leaf.offset_bytes = 0;
  leaf.size_bytes = leaf.object->size_bytes();
  for (const CodecChain* chain = &view_->chain; const ShardingCodec* sharding = chain->sharding();
       chain = &sharding->inner()) {
    auto index = shard_index(*state_, worker, *leaf.object, leaf.offset_bytes, leaf.size_bytes, *sharding, leaf.name);
    if (!index) return std::move(std::move(index).error().add_context(state_->store->url() + "/" + leaf.name));
    std::uint64_t linear = 0;
    for (std::size_t d = 0; d < rank; ++d) {
      linear = linear * sharding->inner_grid()[d] + origin[d] / sharding->inner_shape()[d];
      origin[d] %= sharding->inner_shape()[d];
    }
    const ShardEntry& entry = (**index)[linear];
    leaf.name += fmt::format(" inner chunk {}", linear);
    if (entry.absent()) {
      leaf.object = nullptr;
      return {};
    }
    leaf.offset_bytes += entry.offset;
    leaf.size_bytes = entry.size;
  }
  return {};
}

}  // namespace penstock
