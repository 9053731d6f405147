// What an open array holds, shared by its copies.
#pragma once
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "codec/chain.hpp"
#include "codec/sharding/sharding.hpp"
#include "format/consolidated.hpp"
#include "penstock/array.hpp"

namespace penstock {

/// Indexes of shards read lately; the least recently used go first.  Thread-safe.
class ShardIndexCache {
 public:
  using Index = std::shared_ptr<const std::vector<ShardEntry>>;
  /// The index of this version of the object, else nullptr.
  Index find(const std::string& key, std::uint64_t version);
  void insert(const std::string& key, std::uint64_t version, Index index);

 private:
  static constexpr std::size_t kMaxBytes = std::size_t{32} << 20;
  struct Entry {
    std::string key;
    std::uint64_t version;
    Index index;
  };
  void drop(std::list<Entry>::iterator entry);
  std::mutex mutex_;
  std::list<Entry> entries_;  // most recent first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_key_;
  std::size_t bytes_ = 0;
};

/// Metadata that one operation sees: replaced as a whole by resize, so that running reads keep what they began with.
struct ArrayView {
  Dataset dataset;
  CodecChain chain;
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
