#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "codec/sharding/codec.hpp"
#include "codec/support.hpp"

namespace penstock {
namespace {

std::string entry_name(std::size_t entry, std::span<const std::uint64_t> grid) {
  Shape at(grid.size());
  std::uint64_t rest = entry;
  for (std::size_t d = grid.size(); d-- > 0;) {
    at[d] = rest % grid[d];
    rest /= grid[d];
  }
  return fmt::format("index entry {} (inner chunk {})", entry, to_string(at));
}

std::string bytes_text(const ShardEntry& e) { return fmt::format("offset {}, size {}", e.offset, e.size); }

Error overlap(std::size_t first, std::size_t second, std::span<const ShardEntry> entries,
              std::span<const std::uint64_t> grid) {
  return corrupt(fmt::format("{}: {} overlaps {}: {}", entry_name(second, grid), bytes_text(entries[second]),
                             entry_name(first, grid), bytes_text(entries[first])));
}

bool takes_space(const ShardEntry& e) { return !e.absent() && e.size > 0; }

/// For entries in any order.  Shards are usually written in order; see check_entries.
Status check_overlap_sorted(std::span<const ShardEntry> entries, std::span<const std::uint64_t> grid) {
  std::vector<std::size_t> order(entries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t i) { return !takes_space(entries[i]); });
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(entries[i].offset, i); });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const ShardEntry& before = entries[order[i - 1]];
    if (before.offset + before.size > entries[order[i]].offset) return overlap(order[i - 1], order[i], entries, grid);
  }
  return {};
}

}  // namespace

Status check_entries(std::span<const ShardEntry> entries, ShardBody body, std::span<const std::uint64_t> grid) {
  std::uint64_t end = body.begin;
  bool in_order = true;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const ShardEntry& e = entries[i];
    if (e.absent()) continue;
    if (e.offset < body.begin || e.offset > body.end || e.size > body.end - e.offset)
      return corrupt(fmt::format("{}: {} is not within the shard's bytes {} to {}", entry_name(i, grid), bytes_text(e),
                                 body.begin, body.end));
    if (e.size == 0) continue;
    in_order = in_order && e.offset >= end;
    end = e.offset + e.size;
  }
  return in_order ? Status() : check_overlap_sorted(entries, grid);
}

}  // namespace penstock
