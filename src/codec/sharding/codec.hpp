// The parts of the sharding codec, between its metadata (spec.cpp), its index (index.cpp) and its work (cpu.cpp).
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "codec/sharding/sharding_spec.hpp"

namespace penstock {

/// Binds the chains.  Errors: those of the chains; invalid_metadata when the index has no fixed size.
Result<std::unique_ptr<ShardingCodec>> make_sharding(const ChunkSpec& shard, const ShardingSpec& spec);

/// The bytes of a shard that inner chunks may lie in.
struct ShardBody {
  std::uint64_t begin, end;
};
/// Every entry must lie inside `body` and overlap no other.
/// Errors: corrupt_data naming the entry (its number in C order of `grid` and its coordinates).
Status check_entries(std::span<const ShardEntry> entries, ShardBody body, std::span<const std::uint64_t> grid);

}  // namespace penstock
