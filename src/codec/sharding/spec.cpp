// sharding_indexed: an object that holds many inner chunks and an index of where they are.
//
// Specification  https://zarr-specs.readthedocs.io/en/latest/v3/codecs/sharding-indexed/index.html
// Names          v3 "sharding_indexed"; v2: none
// Example        {"name": "sharding_indexed", "configuration": {"chunk_shape": [32, 32],
//                "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd"}],
//                "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
//                "index_location": "end"}}
// Limits         chunk_shape divides the shard; the index codecs have a fixed encoded size; nested to any depth that
//                the metadata's own limit of 64 levels lets in
// Deviations     "index_codecs" may be absent and is then bytes and crc32c, as zarr-python and tensorstore have it;
//                inner chunks that share bytes are refused as corrupt
#include <fmt/format.h>

#include "codec/entry.hpp"
#include "codec/sharding/codec.hpp"
#include "codec/support.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

Result<AnyCodec> make(const Json& configuration, const ChunkSpec& chunk) {
  PENSTOCK_ASSIGN(const ShardingSpec spec, ShardingSpec::parse(configuration, chunk.shape.size()));
  for (std::size_t d = 0; d < chunk.shape.size(); ++d)
    if (chunk.shape[d] % spec.chunk_shape[d] != 0)
      return bad_configuration(fmt::format("\"chunk_shape\" {} in dimension {} does not divide the shard's {}",
                                           spec.chunk_shape[d], d, chunk.shape[d]));
  PENSTOCK_ASSIGN(std::unique_ptr<ShardingCodec> codec, make_sharding(chunk, spec));
  return AnyCodec(std::unique_ptr<ArrayToBytes>(std::move(codec)));
}

}  // namespace

const CodecEntry kShardingCodec = {"sharding_indexed", {}, "", make, nullptr, nullptr};

}  // namespace penstock
