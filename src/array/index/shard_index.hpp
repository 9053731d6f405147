// The inner chunks of shards, whose places stand in an index at the beginning or the end of each.
#pragma once
#include "array/index/chunk_index.hpp"
#include "array/index/shard_cache.hpp"

namespace penstock {

class ShardIndex final : public ChunkIndex {
 public:
  /// `shards` locates the shards; it may be a ShardIndex itself.  `sharding` and `cache` must outlive this.
  ShardIndex(std::unique_ptr<const ChunkIndex> shards, const ShardingCodec& sharding, ShardIndexCache& cache)
      : shards_(std::move(shards)), sharding_(sharding), cache_(cache) {}
  Status locate(const ChunkIds& chunks, Fetcher& fetcher, std::span<ChunkRef> out) const override;
  void forget(const ChunkHolder& holder) const override;

 private:
  struct Shard;
  [[nodiscard]] bool is_worth_all(const Shard& shard, const WholeObjects& whole) const;
  void look_up(Shard& shard, const Fetcher& fetcher) const;
  void take_index(Shard& shard, Fetched fetched, const WholeObjects& whole) const;
  [[nodiscard]] ByteRange index_range(const ChunkRef& shard) const;

  std::unique_ptr<const ChunkIndex> shards_;
  const ShardingCodec& sharding_;
  ShardIndexCache& cache_;
};

}  // namespace penstock
