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

#include "codec/list.hpp"
#include "codec/sharding/codec.hpp"
#include "codec/support.hpp"
#include "core/checked.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

Result<Shape> parse_inner_shape(const Json& configuration, const Shape& shard) {
  PENSTOCK_ASSIGN(const Json* list, member(configuration, "chunk_shape"));
  if (!list->is_array() || list->size() != shard.size())
    return bad_configuration(
        fmt::format("\"chunk_shape\" must hold {} extents, is {}", shard.size(), dump_json(*list).substr(0, 80)));
  Shape shape;
  for (std::size_t d = 0; d < shard.size(); ++d) {
    PENSTOCK_ASSIGN(const std::uint64_t extent, to_u64((*list)[d], "an extent of \"chunk_shape\""));
    if (extent == 0) return bad_configuration("an extent of \"chunk_shape\" is 0");
    if (shard[d] % extent != 0)
      return bad_configuration(
          fmt::format("\"chunk_shape\" {} in dimension {} does not divide the shard's {}", extent, d, shard[d]));
    shape.push_back(extent);
  }
  return shape;
}

Result<std::vector<CodecSpec>> parse_index_codecs(const Json& configuration) {
  const auto it = configuration.find("index_codecs");
  if (it == configuration.end()) return std::vector<CodecSpec>{{"bytes", R"({"endian":"little"})"}, {"crc32c", "{}"}};
  PENSTOCK_ASSIGN_IN(auto specs, codecs_from_json(*it), "index_codecs");
  return specs;
}

Result<ShardingCodec::IndexLocation> parse_location(const Json& configuration) {
  PENSTOCK_ASSIGN(const std::string text, string_or(configuration, "index_location", "end"));
  if (text == "end") return ShardingCodec::IndexLocation::end;
  if (text == "start") return ShardingCodec::IndexLocation::start;
  return bad_configuration(fmt::format("\"index_location\" must be \"start\" or \"end\", is \"{}\"", text));
}

Result<AnyCodec> make(const Json& configuration, const ChunkSpec& chunk) {
  PENSTOCK_TRY(only_members(configuration, {"chunk_shape", "codecs", "index_codecs", "index_location"}));
  ShardParts parts;
  parts.shard = chunk;
  PENSTOCK_ASSIGN(parts.inner_shape, parse_inner_shape(configuration, chunk.shape));
  PENSTOCK_ASSIGN(parts.location, parse_location(configuration));
  PENSTOCK_ASSIGN(const Json* inner_list, member(configuration, "codecs"));
  PENSTOCK_ASSIGN(parts.inner_specs, codecs_from_json(*inner_list));
  PENSTOCK_ASSIGN(parts.index_specs, parse_index_codecs(configuration));
  PENSTOCK_ASSIGN(std::unique_ptr<ShardingCodec> codec, make_sharding(std::move(parts)));
  return AnyCodec(std::unique_ptr<ArrayToBytes>(std::move(codec)));
}

}  // namespace

const CodecEntry kShardingCodec = {"sharding_indexed", {}, "", make, nullptr, nullptr};

}  // namespace penstock
