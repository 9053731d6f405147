// Finds the innermost chunks of a region one by one, whatever nests around them.
#pragma once
#include <memory>
#include <string>

#include "array/grid.hpp"
#include "array/state.hpp"
#include "exec/job.hpp"

namespace penstock {

/// A chunk that can be read alone, located.
struct Leaf {
  std::array<ChunkSlice, kMaxRank> segments;  ///< inside the innermost chunk
  std::shared_ptr<const Object> object;       ///< nullptr: absent
  std::uint64_t offset_bytes = 0;
  std::uint64_t size_bytes = 0;
  std::string name;  ///< key, and the inner chunk if there is one
};

/// A region cut along the innermost chunks.  Each thread uses its own LeafFinder.
class LeafFinder {
 public:
  static Result<LeafFinder> make(std::shared_ptr<Array::State> state, std::shared_ptr<const ArrayView> view,
                                 const Region& region);
  [[nodiscard]] std::uint64_t size() const { return cut_.size(); }
  /// Locates the i-th chunk in C order of the region.  Errors: those of the store and of shard indexes, with the key.
  Status find(std::uint64_t i, Worker& worker, Leaf& leaf);

 private:
  Status descend(const std::array<std::uint64_t, kMaxRank>& chunk, Worker& worker, Leaf& leaf);
  Status open(std::string key);

  std::shared_ptr<Array::State> state_;
  std::shared_ptr<const ArrayView> view_;
  GridPartition cut_;
  std::string open_key_;  // the object of the last chunk: neighbours often lie in the same shard
  bool have_open_ = false;
  std::shared_ptr<const Object> open_object_;
};

/// The index of a shard, from the cache where this version of the object is in it.
Result<ShardIndexCache::Index> shard_index(Array::State& state, Worker& worker, const Object& object,
                                           std::uint64_t offset_bytes, std::uint64_t size_bytes,
                                           const ShardingCodec& sharding, const std::string& name);

}  // namespace penstock
