// Indexes of shards read lately.
#pragma once
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "codec/sharding/sharding.hpp"

namespace penstock {

/// The least recently used go first.  Thread-safe.
class ShardIndexCache {
 public:
  using Index = std::shared_ptr<const std::vector<ShardEntry>>;
  struct Entry {
    std::uint64_t version = 0;  ///< of the object; never 0 in the cache
    Index index;                ///< nullptr: none is known
  };
  /// What is known of a shard, whichever version of the object it is of.
  Entry find(const std::string& name);
  /// The index of this version of the object, else nullptr.
  Index find(const std::string& name, std::uint64_t version);
  void insert(const std::string& name, std::uint64_t version, Index index);
  /// Drops what is known of shards in this version of an object.
  void forget(const std::string& key, std::uint64_t version);

 private:
  static constexpr std::size_t kMaxBytes = std::size_t{32} << 20;
  struct Row {
    std::string name;
    Entry entry;
  };
  void drop(std::list<Row>::iterator row);
  std::mutex mutex_;
  std::list<Row> rows_;  // most recent first
  std::unordered_map<std::string, std::list<Row>::iterator> by_name_;
  std::size_t bytes_ = 0;
};

}  // namespace penstock
