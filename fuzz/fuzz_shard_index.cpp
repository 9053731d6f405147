// Bytes as a shard: its index is read and checked, and then the whole shard.
// The first byte chooses where the index is and whether inner chunks are raw, zstd or shards themselves.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "codec/chain.hpp"
#include "codec/sharding/sharding.hpp"
#include "fuzz.hpp"

using namespace penstock;
using fuzz::demand;

namespace {

const std::string kPlain = R"([{"name":"bytes","configuration":{"endian":"little"}}])";
const std::string kZstd = R"([{"name":"bytes","configuration":{"endian":"little"}},{"name":"zstd"}])";

std::string shard(const std::string& inner_shape, const std::string& codecs, const std::string& location) {
  // No checksum: the fuzzer could not get past it.
  return R"({"chunk_shape":)" + inner_shape + R"(,"codecs":)" + codecs + R"(,"index_codecs":)" + kPlain +
         R"(,"index_location":")" + location + "\"}";
}

std::vector<CodecChain> make_chains() {
  std::vector<CodecChain> chains;
  const ChunkSpec chunk{{4, 6}, DType::uint16(), {std::byte{7}, std::byte{0}}};
  for (const char* location : {"start", "end"}) {
    const std::string nested =
        R"([{"name":"sharding_indexed","configuration":)" + shard("[2,1]", kPlain, location) + "}]";
    for (const std::string* codecs : {&kPlain, &kZstd, &nested}) {
      const CodecSpec spec{"sharding_indexed", shard("[2,3]", *codecs, location)};
      auto chain = CodecChain::make(std::vector{spec}, chunk);
      demand(chain.has_value());
      chains.push_back(*std::move(chain));
    }
  }
  return chains;
}

void check_index(const ShardingCodec& codec, ByteView shard) {
  const std::uint64_t size = codec.index_bytes();
  if (shard.size() < size) return;
  const bool first = codec.index_location() == ShardingCodec::IndexLocation::start;
  const auto entries = codec.decode_index(first ? shard.first(size) : shard.last(size), shard.size());
  if (!entries) return;
  std::vector<ShardEntry> kept;
  for (const ShardEntry& e : *entries)
    if (!e.absent() && e.size > 0) kept.push_back(e);
  std::ranges::sort(kept, {}, &ShardEntry::offset);
  std::uint64_t end = first ? size : 0;
  for (const ShardEntry& e : kept) {
    demand(e.offset >= end && e.size <= shard.size() - e.offset);
    end = e.offset + e.size;
  }
  demand(end <= shard.size() - (first ? 0 : size));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<CodecChain> chains = make_chains();
  if (size == 0) return 0;
  const CodecChain& chain = chains[data[0] % chains.size()];
  const ByteView shard = std::as_bytes(std::span(data + 1, size - 1));
  check_index(*chain.sharding(), shard);
  ScratchBuffers scratch;
  std::vector<std::byte> one(chain.decoded_size(), std::byte{0});
  std::vector<std::byte> two(chain.decoded_size(), std::byte{0xff});
  const auto first = chain.decode(shard, one, scratch, {});
  const auto second = chain.decode(shard, two, scratch, {});
  demand(first.has_value() == second.has_value());
  demand(!first || one == two);  // every byte of the output was written
  return 0;
}
