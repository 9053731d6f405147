#include "array/index/make_index.hpp"

#include "array/index/contiguous_index.hpp"
#include "array/index/key_index.hpp"
#include "array/index/shard_index.hpp"
#include "array/index/table_index.hpp"

namespace penstock {
namespace {

using Made = Result<std::unique_ptr<const ChunkIndex>>;

/// One for each kind of placement.
struct Maker {
  const Dataset& dataset;
  const std::string& path;

  Made operator()(const KeyEncoding& keys) const {
    return std::unique_ptr<const ChunkIndex>(std::make_unique<KeyIndex>(path, keys));
  }
  Made operator()(const ContiguousChunks& volume) const {
    PENSTOCK_ASSIGN(auto index, ContiguousIndex::make(volume, dataset.shape, dataset.chunk_shape, item_bytes()));
    return std::unique_ptr<const ChunkIndex>(std::move(index));
  }
  Made operator()(const ChunkTable& table) const {
    PENSTOCK_ASSIGN(auto index, TableIndex::make(table, dataset.shape, dataset.chunk_shape, item_bytes()));
    return std::unique_ptr<const ChunkIndex>(std::move(index));
  }
  [[nodiscard]] std::uint64_t item_bytes() const { return dataset.dtype.size_bytes; }
};

}  // namespace

Made make_index(const Dataset& dataset, const CodecChain& chain, const std::string& path, ShardIndexCache& cache) {
  PENSTOCK_ASSIGN(std::unique_ptr<const ChunkIndex> index, std::visit(Maker{dataset, path}, dataset.placement));
  for (const CodecChain* around = &chain; const ShardingCodec* sharding = around->sharding();
       around = &sharding->inner())
    index = std::make_unique<ShardIndex>(std::move(index), *sharding, cache);
  return Made(std::move(index));
}

}  // namespace penstock
