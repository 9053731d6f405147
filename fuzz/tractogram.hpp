// What the fuzz targets of files of streamlines share.
#pragma once
#include "fuzz.hpp"
#include "tracto/file/reader.hpp"

namespace penstock::fuzz {

/// A store in memory that holds these objects alone.
inline std::shared_ptr<Store> store_of(std::initializer_list<std::pair<const char*, ByteView>> objects) {
  const auto store = open_store("memory://fuzz", StoreMode::create).value();
  demand(store->erase_prefix("").has_value());
  for (const auto& [key, bytes] : objects) demand(store->set(key, bytes).has_value());
  return store;
}

/// Reads to the end: blocks are whole, and no more comes than a file of `bytes` bytes can hold.
inline void read_all(Result<std::unique_ptr<tracto::TractogramReader>> reader, std::size_t bytes) {
  if (!reader) {
    demand(!reader.error().message().empty());
    return;
  }
  std::uint64_t points = 0, lines = 0;
  for (tracto::StreamlineBlock block;;) {
    const Status status = (*reader)->next(block);
    if (!status) {
      demand(!status.error().message().empty());
      return;
    }
    if (block.lengths.empty()) break;
    demand(std::accumulate(block.lengths.begin(), block.lengths.end(), std::uint64_t{0}) == block.points.size());
    const auto& says = (*reader)->head().says;
    demand(block.seed_points.size() == (says.seed_points ? block.lengths.size() : 0));
    demand(block.seed_numbers.size() == (says.seed_numbers ? block.lengths.size() : 0));
    demand(block.reasons.size() == (says.reasons ? block.lengths.size() : 0));
    points += block.points.size();
    lines += block.lengths.size();
  }
  demand(points <= bytes && lines <= bytes);
  const auto& counted = (*reader)->head().streamlines;
  demand(!counted || *counted == lines);
}

}  // namespace penstock::fuzz
