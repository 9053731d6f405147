#include "array/index/shard_cache.hpp"

namespace penstock {

ShardIndexCache::Entry ShardIndexCache::find(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return {};
  rows_.splice(rows_.begin(), rows_, found->second);
  return found->second->entry;
}

ShardIndexCache::Index ShardIndexCache::find(const std::string& name, std::uint64_t version) {
  Entry entry = find(name);
  return version != 0 && entry.version == version ? std::move(entry.index) : nullptr;
}

void ShardIndexCache::insert(const std::string& name, std::uint64_t version, Index index) {
  if (version == 0) return;  // the next version could have none either
  const std::scoped_lock lock(mutex_);
  if (const auto found = by_name_.find(name); found != by_name_.end()) drop(found->second);
  bytes_ += index->size() * sizeof(ShardEntry);
  rows_.push_front({name, {version, std::move(index)}});
  by_name_[name] = rows_.begin();
  while (bytes_ > kMaxBytes && rows_.size() > 1) drop(std::prev(rows_.end()));
}

void ShardIndexCache::forget(const std::string& key, std::uint64_t version) {
  const std::scoped_lock lock(mutex_);
  for (auto row = rows_.begin(); row != rows_.end();) {
    const auto at = row++;
    const bool inside = at->name.starts_with(key) && (at->name.size() == key.size() || at->name[key.size()] == ' ');
    if (inside && at->entry.version == version) drop(at);
  }
}

void ShardIndexCache::drop(std::list<Row>::iterator row) {
  bytes_ -= row->entry.index->size() * sizeof(ShardEntry);
  by_name_.erase(row->name);
  rows_.erase(row);
}

}  // namespace penstock
