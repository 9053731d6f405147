#include "array/index/make_index.hpp"

#include <algorithm>

#include "array/index/contiguous_index.hpp"
#include "array/index/key_index.hpp"
#include "array/index/shard_index.hpp"
#include "array/index/table_index.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

using Made = Result<std::unique_ptr<const ChunkIndex>>;

/// One for each kind of placement.
struct Maker {
  const Dataset& dataset;
  const CodecChain& chain;
  const std::string& path;

  Made operator()(const KeyEncoding& keys) const {
    return std::unique_ptr<const ChunkIndex>(std::make_unique<KeyIndex>(path, keys));
  }
  Made operator()(const ContiguousChunks& volume) const {
    PENSTOCK_ASSIGN(auto index, ContiguousIndex::make(volume, dataset.shape, dataset.chunk_shape, item_bytes()));
    return std::unique_ptr<const ChunkIndex>(std::move(index));
  }
  Made operator()(const ChunkTable& table) const {
    PENSTOCK_ASSIGN(auto index, TableIndex::make(table, dataset.shape, dataset.chunk_shape, item_bytes(),
                                                 plain_chunk_bytes(table.cropped_at_edges), part_of_object()));
    return std::unique_ptr<const ChunkIndex>(std::move(index));
  }
  /// What the format calls the array, where an object holds several.
  [[nodiscard]] std::string part_of_object() const {
    const auto extra = parse_json(dataset.format.extra.empty() ? "{}" : dataset.format.extra);
    return extra ? extra->value("part", std::string()) : std::string();
  }
  [[nodiscard]] std::uint64_t item_bytes() const { return dataset.dtype.size_bytes; }
  /// As TableIndex::make takes it.
  [[nodiscard]] std::uint64_t plain_chunk_bytes(const std::vector<bool>& cropped) const {
    if (!chain.is_uncompressed() || std::ranges::count(cropped, true) != 1) return 0;
    const auto d = static_cast<std::size_t>(std::ranges::find(cropped, true) - cropped.begin());
    const auto row_bytes = static_cast<std::uint64_t>(chain.chunk_layout().strides[d]);
    return row_bytes * dataset.chunk_shape[d] == chain.decoded_size() ? chain.decoded_size() : 0;
  }
};

}  // namespace

Made make_index(const Dataset& dataset, const CodecChain& chain, const std::string& path, ShardIndexCache& cache) {
  PENSTOCK_ASSIGN(std::unique_ptr<const ChunkIndex> index, std::visit(Maker{dataset, chain, path}, dataset.placement));
  for (const CodecChain* around = &chain; const ShardingCodec* sharding = around->sharding();
       around = &sharding->inner())
    index = std::make_unique<ShardIndex>(std::move(index), *sharding, cache);
  return Made(std::move(index));
}

}  // namespace penstock
