#include "copy/raster.hpp"

#include <fmt/format.h>

#include "core/json.hpp"
#include "penstock/cog.hpp"

namespace penstock {
namespace {

Error not_of_cog(const std::string& what) {
  return Error(ErrorCode::unsupported, fmt::format("{}: a COG has none", what))
      .set_hint("`penstock cog create` has the choices of a COG; a copy to .zarr or .zip has all others.");
}

/// Compression by what zarr calls it.
Status put_codec(const std::vector<CodecSpec>& compressors, CogOptions& cog) {
  if (compressors.size() > 1) return not_of_cog(fmt::format("{} codecs in a row", compressors.size()));
  if (compressors.empty()) {
    cog.codec = CogCodec::none;
    return {};
  }
  const CodecSpec& codec = compressors.front();
  if (codec.name == "zstd")
    cog.codec = CogCodec::zstd;
  else if (codec.name == "numcodecs.zlib" || codec.name == "zlib")
    cog.codec = CogCodec::deflate;
  else
    return not_of_cog("codec " + codec.name);
  PENSTOCK_ASSIGN(const Json configuration, parse_json(codec.configuration));
  if (!configuration.contains("level") || !configuration["level"].is_number_integer()) return {};
  const int level = configuration["level"].get<int>();
  if (level == 0 && cog.codec == CogCodec::zstd) return {};  // zarr's word for zstd's own choice
  cog.codec_level = level;
  return {};
}

Result<CogOptions> cog_options(const CopyChanges& changes) {
  CogOptions cog;
  if (changes.shard_shape && !changes.shard_shape->empty()) return not_of_cog("shards");
  if (changes.zarr_format) return not_of_cog("a version of zarr");
  if (changes.dimension_separator) return not_of_cog("a separator of keys");
  if (changes.chunk_shape) {
    const Shape& chunk = *changes.chunk_shape;
    if (chunk.size() < 2 || chunk.back() != chunk[chunk.size() - 2])
      return not_of_cog("chunks that are no squares along y and x");
    cog.block = chunk.back();
  }
  if (changes.compressors) PENSTOCK_TRY(put_codec(*changes.compressors, cog));
  return cog;
}

}  // namespace

Result<Report> copy_to_raster(const Node& from, const std::string& url, const CopyOptions& how,
                              const Options& options) {
  const auto* const array = std::get_if<Array>(&from);
  if (array == nullptr) return not_of_cog("a group");
  if (how.pyramid) return not_of_cog("a pyramid of OME-NGFF (it has its overviews)");
  if (how.resume == Resume::yes) return not_of_cog("a copy to go on with (it appears when it is complete)");
  CopyChanges changes;
  if (how.changes) {
    PENSTOCK_ASSIGN(changes, how.changes(array->dataset()));
  }
  if (how.zarr_format) changes.zarr_format = how.zarr_format;
  PENSTOCK_ASSIGN(const CogOptions cog, cog_options(changes));
  PENSTOCK_ASSIGN(const CogInput input, cog_input(*array, changes.region.value_or(Region{})));
  return write_cog(input, url, how.store, cog, how.if_exists, options);
}

}  // namespace penstock
