// What penstock/codec.hpp says of lists of codecs.
#include "codec/chain.hpp"
#include "codec/list.hpp"
#include "codec/sharding/sharding_spec.hpp"
#include "core/json.hpp"
#include "penstock/codec.hpp"

namespace penstock {

Result<std::vector<CodecKind>> codec_kinds(std::span<const CodecSpec> codecs, const Shape& chunk_shape,
                                           const DType& dtype) {
  ChunkSpec chunk{chunk_shape, dtype, {}};
  std::vector<CodecKind> kinds;
  for (const CodecSpec& spec : codecs) {
    const CodecEntry* entry = find_codec(spec.name);
    if (entry == nullptr) return unknown_codec(spec.name);
    PENSTOCK_ASSIGN(const Json configuration, parse_json(spec.configuration));
    PENSTOCK_ASSIGN(const AnyCodec codec, entry->make(configuration, chunk));
    if (const auto* filter = std::get_if<std::unique_ptr<ArrayToArray>>(&codec)) {
      chunk = (*filter)->encoded();
      kinds.push_back(CodecKind::array_array);
    } else {
      kinds.push_back(std::holds_alternative<std::unique_ptr<ArrayToBytes>>(codec) ? CodecKind::array_bytes
                                                                                   : CodecKind::bytes_bytes);
    }
  }
  return kinds;
}

Result<CodecSpec> sharding_codec(const Shape& inner_chunk_shape, std::vector<CodecSpec> codecs) {
  return ShardingSpec{inner_chunk_shape, std::move(codecs)}.print();
}

Result<bool> shards(std::span<const CodecSpec> codecs, std::size_t rank) {
  PENSTOCK_ASSIGN(const auto sharding, ShardingSpec::find(codecs, rank));
  return sharding.has_value();
}

Result<std::vector<CodecSpec>> element_codecs(std::span<const CodecSpec> codecs, std::size_t rank) {
  std::vector<CodecSpec> all;
  for (const CodecSpec& codec : codecs) {
    if (codec.name != ShardingSpec::kName) {
      all.push_back(codec);
      continue;
    }
    PENSTOCK_ASSIGN(const Json configuration, parse_json(codec.configuration));
    PENSTOCK_ASSIGN(const ShardingSpec sharding, ShardingSpec::parse(configuration, rank));
    PENSTOCK_ASSIGN(const std::vector<CodecSpec> inner, element_codecs(sharding.codecs, rank));
    all.insert(all.end(), inner.begin(), inner.end());
  }
  return all;
}

}  // namespace penstock
