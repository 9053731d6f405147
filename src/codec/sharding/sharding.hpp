// sharding_indexed: an object that holds many inner chunks and an index of where they are.
// https://zarr-specs.readthedocs.io/en/latest/v3/codecs/sharding-indexed/index.html
#pragma once
#include <memory>
#include <vector>

#include "codec/chain.hpp"

namespace penstock {

/// Where an inner chunk lies in its shard.
struct ShardEntry {
  std::uint64_t offset = kAbsent;
  std::uint64_t size = kAbsent;
  static constexpr std::uint64_t kAbsent = ~std::uint64_t{0};
  [[nodiscard]] bool absent() const { return offset == kAbsent && size == kAbsent; }
};

struct CodecEntry;
extern const CodecEntry kShardingCodec;

/// The array->bytes codec "sharding_indexed".  The array reader uses it to read inner chunks alone.
class ShardingCodec : public ArrayToBytes {
 public:
  enum class IndexLocation : std::uint8_t { start, end };
  [[nodiscard]] virtual const Shape& inner_shape() const = 0;  ///< of one inner chunk
  [[nodiscard]] virtual const Shape& inner_grid() const = 0;   ///< inner chunks per dimension
  [[nodiscard]] virtual std::uint64_t inner_count() const = 0;
  [[nodiscard]] virtual const CodecChain& inner() const = 0;
  [[nodiscard]] virtual IndexLocation index_location() const = 0;
  /// Encoded size of the index in the shard.
  [[nodiscard]] virtual std::uint64_t index_bytes() const = 0;
  /// Decodes and checks an index: every entry inside a shard of `shard_bytes` bytes and off the index, none
  /// overlapping. Errors: corrupt_data naming the entry.
  [[nodiscard]] virtual Result<std::vector<ShardEntry>> decode_index(ByteView index,
                                                                     std::uint64_t shard_bytes) const = 0;
  /// Encodes the index of a shard: entries in C order of the inner grid, offsets from the start of the shard.
  [[nodiscard]] virtual Status encode_index(std::span<const ShardEntry> entries, Bytes& out) const = 0;
};

}  // namespace penstock
