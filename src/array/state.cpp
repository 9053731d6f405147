#include "array/state.hpp"

namespace penstock {

ShardIndexCache::Index ShardIndexCache::find(const std::string& key, std::uint64_t version) {
  const std::scoped_lock lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end() || found->second->version != version) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->index;
}

void ShardIndexCache::insert(const std::string& key, std::uint64_t version, Index index) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = by_key_.find(key); found != by_key_.end()) drop(found->second);
  bytes_ += index->size() * sizeof(ShardEntry);
  entries_.push_front({key, version, std::move(index)});
  by_key_[key] = entries_.begin();
  while (bytes_ > kMaxBytes && entries_.size() > 1) drop(std::prev(entries_.end()));
}

void ShardIndexCache::drop(std::list<Entry>::iterator entry) {
  bytes_ -= entry->index->size() * sizeof(ShardEntry);
  by_key_.erase(entry->key);
  entries_.erase(entry);
}

}  // namespace penstock
