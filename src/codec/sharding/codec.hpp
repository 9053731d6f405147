// The parts of the sharding codec, between its metadata (spec.cpp), its index (index.cpp) and its work (cpu.cpp).
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "codec/sharding/sharding.hpp"

namespace penstock {

/// What the metadata say.
struct ShardParts {
  ChunkSpec shard;
  Shape inner_shape;
  std::vector<CodecSpec> inner_specs;
  std::vector<CodecSpec> index_specs;
  ShardingCodec::IndexLocation location = ShardingCodec::IndexLocation::end;
};
/// Binds the chains.  Errors: those of the chains; invalid_metadata when the index has no fixed size.
Result<std::unique_ptr<ShardingCodec>> make_sharding(ShardParts parts);

/// The bytes of a shard that inner chunks may lie in.
struct ShardBody {
  std::uint64_t begin, end;
};
/// Every entry must lie inside `body` and overlap no other.
/// Errors: corrupt_data naming the entry (its number in C order of `grid` and its coordinates).
Status check_entries(std::span<const ShardEntry> entries, ShardBody body, std::span<const std::uint64_t> grid);

}  // namespace penstock
