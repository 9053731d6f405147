// What an open array holds, shared by its copies.
#pragma once
#include <functional>
#include <memory>
#include <shared_mutex>
#include <string>

#include "array/index/chunk_index.hpp"
#include "array/index/shard_cache.hpp"
#include "codec/chain.hpp"
#include "format/consolidated.hpp"
#include "penstock/array.hpp"

namespace penstock {

/// Metadata that one operation sees: replaced as a whole by resize, so that running reads keep what they began with.
struct ArrayView {
  Dataset dataset;
  CodecChain chain;
  std::unique_ptr<const ChunkIndex> index;  // of the innermost chunks
};

struct Array::State {
  std::shared_ptr<Store> store;
  std::string path;
  mutable std::shared_mutex mutex;  // of `view` and `committed`
  std::shared_ptr<const ArrayView> view;
  bool committed = true;
  Consolidated consolidated;  // of groups above, until the array is committed
  ShardIndexCache indexes;

  [[nodiscard]] std::shared_ptr<const ArrayView> current() const {
    const std::shared_lock lock(mutex);
    return view;
  }
  /// Key of a chunk in the store.
  [[nodiscard]] std::string key(const Dataset& dataset, std::span<const std::uint64_t> chunk) const {
    return path.empty() ? dataset.keys.key(chunk) : path + "/" + dataset.keys.key(chunk);
  }
};

/// Gives the stages of array/ the inside of an Array.
struct ArrayAccess {
  static Array::State& state(const Array& array) { return *array.state_; }
  static std::shared_ptr<Array::State> share(const Array& array) { return array.state_; }
  static Array wrap(std::shared_ptr<Array::State> state) {
    Array array;
    array.state_ = std::move(state);
    return array;
  }
};

}  // namespace penstock
