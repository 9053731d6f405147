// Listings of a store that keeps its keys in a sorted map.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/store.hpp"

namespace penstock {

/// First key at or behind `prefix` + "/", and the first behind all of them ('0' follows '/' in byte order).
template <class Map>
auto keys_below(Map& map, std::string_view prefix) {
  if (prefix.empty()) return std::pair(map.begin(), map.end());
  return std::pair(map.lower_bound(std::string(prefix) + '/'), map.lower_bound(std::string(prefix) + '0'));
}

template <class Map>
std::vector<StoreEntry> list_dir_of(const Map& map, std::string_view prefix) {
  const std::size_t skip = prefix.empty() ? 0 : prefix.size() + 1;
  std::vector<StoreEntry> entries;
  for (auto [it, last] = keys_below(map, prefix); it != last;) {
    const std::string& key = it->first;
    const std::size_t slash = key.find('/', skip);
    entries.push_back({key.substr(skip, slash - skip), slash != std::string::npos});
    it = slash == std::string::npos ? std::next(it) : map.lower_bound(key.substr(0, slash) + '0');
  }
  std::sort(entries.begin(), entries.end(), [](const StoreEntry& a, const StoreEntry& b) {
    return a.name != b.name ? a.name < b.name : a.is_prefix < b.is_prefix;
  });
  return entries;
}

template <class Map>
std::vector<std::string> list_of(const Map& map, std::string_view prefix) {
  std::vector<std::string> keys;
  for (auto [it, last] = keys_below(map, prefix); it != last; ++it) keys.push_back(it->first);
  return keys;
}

/// Removes the keys below `prefix` and the one of that very name.  True when there was any.
template <class Map>
bool erase_from(Map& map, std::string_view prefix) {
  const std::size_t before = map.size();
  if (const auto it = map.find(prefix); it != map.end()) map.erase(it);
  const auto [first, last] = keys_below(map, prefix);
  map.erase(first, last);
  return map.size() != before;
}

}  // namespace penstock
