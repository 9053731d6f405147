// The dataset that a copy writes: source metadata with the changes applied.
#include <fmt/format.h>

#include <algorithm>

#include "array/raster/attributes.hpp"
#include "codec/chain.hpp"
#include "codec/list.hpp"
#include "codec/sharding/sharding_spec.hpp"
#include "core/json.hpp"
#include "core/json_text.hpp"
#include "format/position.hpp"
#include "format/zarr/zarr.hpp"
#include "penstock/copy_changes.hpp"

namespace penstock {
namespace {

/// Codecs of the innermost chunks, and the shard around them if there is one.
struct Layers {
  Shape chunk_shape;
  std::vector<CodecSpec> codecs;
  std::optional<ShardingSpec> sharding;
};

Result<Layers> take_apart(const Dataset& from) {
  PENSTOCK_ASSIGN(std::optional<ShardingSpec> sharding, ShardingSpec::find(from.codecs, from.rank()));
  if (!sharding) return Layers{from.chunk_shape, from.codecs, std::nullopt};
  Layers layers{sharding->chunk_shape, sharding->codecs, std::nullopt};
  layers.sharding = std::move(sharding);
  return layers;
}

/// The codecs less the bytes->bytes ones at their end.
Result<std::vector<CodecSpec>> without_compressors(const Layers& layers, const Dataset& dataset) {
  PENSTOCK_ASSIGN(const CodecChain chain,
                  CodecChain::make(layers.codecs, ChunkSpec{layers.chunk_shape, dataset.dtype, dataset.fill}));
  std::vector<CodecSpec> codecs = layers.codecs;
  codecs.resize(codecs.size() - chain.bytes_codecs().size());
  return codecs;
}

Status check_rank(const Shape& shape, const Dataset& dataset, std::string_view what) {
  if (shape.size() == dataset.rank()) return {};
  return Error(ErrorCode::invalid_argument, fmt::format("{} {} has {} dimensions, the array {}", what, to_string(shape),
                                                        shape.size(), dataset.rank()));
}

/// Zarr v3 has one byte order for all fields of a structure; v2 may have one for each.
Status take_one_byte_order(std::vector<CodecSpec>& codecs) {
  for (CodecSpec& codec : codecs) {
    if (codec.name != "bytes") continue;
    PENSTOCK_ASSIGN(Json configuration, parse_json(codec.configuration));
    if (!configuration.value("endian", Json()).is_array()) continue;
    configuration["endian"] = "little";
    codec.configuration = dump_json(configuration);
  }
  return {};
}

/// Zarr v2 knows axes as they are, or all of them reversed.
bool is_order_of_v2(const CodecSpec& codec) {
  if (codec.name != "transpose") return true;
  const auto configuration = parse_json(codec.configuration);
  if (!configuration) return false;
  const Json order = configuration->value("order", Json::array());
  for (std::size_t i = 0; i < order.size(); ++i)
    if (order[i] != order.size() - 1 - i) return false;
  return true;
}

/// A chain with codecs that only files of another format have, or this version of zarr has not, is not taken along.
void take_codecs_of_zarr(std::vector<CodecSpec>& codecs, const DType& dtype, int version) {
  if (std::ranges::all_of(codecs, [&](const CodecSpec& codec) {
        return find_file_codec(codec.name) == nullptr && (version == 3 || is_order_of_v2(codec));
      }))
    return;
  codecs = {{"bytes", dtype.swap_unit() > 1 ? R"({"endian":"little"})" : "{}"},
            {"zstd", R"({"level":3,"checksum":false})"}};
}

/// Filters are written with types of little-endian order.  In zarr v3 so are their elements: zarr-python hands them to
/// a filter in the order in which they are stored, and would take big-endian ones for others.
Status take_order_of_filters(std::vector<CodecSpec>& codecs, int zarr_format) {
  bool typed = false;
  for (CodecSpec& codec : codecs) {
    PENSTOCK_ASSIGN(Json configuration, parse_json(codec.configuration));
    for (const char* key : {"dtype", "astype", "encode_dtype", "decode_dtype"}) {
      if (!configuration.contains(key) || !configuration[key].is_string()) continue;
      typed = true;
      auto text = configuration[key].get<std::string>();
      if (!text.starts_with('>')) continue;
      configuration[key] = text.replace(0, 1, "<");
      codec.configuration = dump_json(configuration);
    }
    if (typed && zarr_format == 3 && codec.name == "bytes" && is_text(configuration.value("endian", Json()), "big"))
      codec.configuration = R"({"endian":"little"})";
  }
  return {};
}

}  // namespace

namespace {

Result<Dataset> changed_dataset(const Dataset& from, const CopyChanges& changes) {
  if (changes.region) PENSTOCK_TRY(check_region(*changes.region, from.shape));
  PENSTOCK_ASSIGN(Layers layers, take_apart(from));
  if (!zarr_format(from.format)) take_codecs_of_zarr(layers.codecs, from.dtype, changes.zarr_format.value_or(3));
  Dataset part = from;
  if (changes.region) {
    part.shape = shape_of(*changes.region);
    PENSTOCK_TRY(move_position(part, *changes.region));
    if (from.rank() == 3 && *changes.region != whole(from.shape))
      PENSTOCK_TRY(move_raster(part, *changes.region, from.shape.front()));
  }
  PENSTOCK_ASSIGN(Dataset to, as_zarr(std::move(part), changes.zarr_format));
  if (to.format.version == 3) PENSTOCK_TRY(take_one_byte_order(layers.codecs));
  PENSTOCK_TRY(take_order_of_filters(layers.codecs, to.format.version));
  if (changes.dimension_separator) PENSTOCK_TRY(set_dimension_separator(to, *changes.dimension_separator));
  if (changes.chunk_shape) {
    PENSTOCK_TRY(check_rank(*changes.chunk_shape, to, "chunk shape"));
    layers.chunk_shape = *changes.chunk_shape;
  }
  if (changes.compressors) {
    PENSTOCK_ASSIGN(layers.codecs, without_compressors(layers, to));
    layers.codecs.insert(layers.codecs.end(), changes.compressors->begin(), changes.compressors->end());
  }
  const bool keep_shards = !changes.shard_shape && layers.sharding && to.format.version == 3;
  Shape shard = keep_shards ? from.chunk_shape : changes.shard_shape.value_or(Shape{});
  if (shard.empty() || to.rank() == 0) {
    to.chunk_shape = layers.chunk_shape;
    to.codecs = layers.codecs;
    return to;
  }
  if (to.format.version == 2)
    return Error(ErrorCode::invalid_argument, "zarr v2 has no shards").set_hint("Write zarr v3, or drop the shards.");
  PENSTOCK_TRY(check_rank(shard, to, "shard shape"));
  for (std::size_t d = 0; d < shard.size(); ++d)
    if (layers.chunk_shape[d] == 0 || shard[d] % layers.chunk_shape[d] != 0)
      return Error(ErrorCode::invalid_argument, fmt::format("shards {} cannot be cut into chunks {}: dimension {}",
                                                            to_string(shard), to_string(layers.chunk_shape), d));
  ShardingSpec sharding = std::move(layers.sharding).value_or(ShardingSpec());
  sharding.chunk_shape = std::move(layers.chunk_shape);
  sharding.codecs = std::move(layers.codecs);
  to.chunk_shape = std::move(shard);
  PENSTOCK_ASSIGN(CodecSpec codec, sharding.print());
  to.codecs = {std::move(codec)};
  return to;
}

}  // namespace

Result<Dataset> copied_dataset(const Dataset& from, const CopyChanges& changes) {
  PENSTOCK_ASSIGN(Dataset to, changed_dataset(from, changes));
  // Others read what every codec says in full.
  PENSTOCK_ASSIGN(const CodecChain chain, CodecChain::make(to.codecs, {to.chunk_shape, to.dtype, to.fill}));
  PENSTOCK_ASSIGN(to.codecs, chain.complete(to.codecs, to.format.version));
  return to;
}

}  // namespace penstock
