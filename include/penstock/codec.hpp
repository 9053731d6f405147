// Codecs by their names, and as people write them.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/api.hpp"
#include "penstock/dataset.hpp"

namespace penstock {

/// The names of a codec.
struct CodecNames {
  std::string name;                  ///< in zarr v3: "zstd", "numcodecs.lz4"
  std::vector<std::string> aliases;  ///< other v3 names that are read as this one
  std::string v2_id;                 ///< in zarr v2; empty: none
};
/// All codecs that penstock knows, in the order they are documented.
PENSTOCK_API std::vector<CodecNames> codec_names();

/// Compressors as people write them: "zstd", "zstd:level=3", "blosc:cname=lz4,clevel=5", "none", a JSON object
/// {"name": ..., "configuration": ...} or an array of them; names are any of CodecNames.  Every parameter is written
/// out in the result; those that are not given are the codec's defaults for elements of `dtype`. Errors:
/// invalid_argument (no such codec, with the nearest name; one that does not compress; a bad parameter).
PENSTOCK_API Result<std::vector<CodecSpec>> parse_codecs(const std::string& text, const DType& dtype);

/// What a codec turns into what.
enum class CodecKind : std::uint8_t { array_array, array_bytes, bytes_bytes };
/// The kind of each codec, asked of the codec itself, made for chunks of `chunk_shape` (elements along each dimension)
/// and `dtype`.  Errors: unsupported (no such codec, with the nearest name), invalid_metadata.
PENSTOCK_API Result<std::vector<CodecKind>> codec_kinds(std::span<const CodecSpec> codecs, const Shape& chunk_shape,
                                                        const DType& dtype);

/// The codec of shards whose inner chunks have this shape and these codecs; the index as zarr-python writes it.
/// Errors: invalid_metadata (a configuration that is not JSON).
PENSTOCK_API Result<CodecSpec> sharding_codec(const Shape& inner_chunk_shape, std::vector<CodecSpec> codecs);
/// Whether an array of `rank` dimensions with these codecs is stored in shards, out of which inner chunks can be read
/// alone.  Errors: invalid_metadata.
PENSTOCK_API Result<bool> shards(std::span<const CodecSpec> codecs, std::size_t rank);
/// The codecs that elements pass through: where `codecs` of an array of `rank` dimensions shard, those of the inner
/// chunks in its place, at any depth.  Errors: invalid_metadata.
PENSTOCK_API Result<std::vector<CodecSpec>> element_codecs(std::span<const CodecSpec> codecs, std::size_t rank);

/// The short names that `parse_codecs` takes as they are, without parameters: "none", "zstd", "blosc", ...
PENSTOCK_API std::vector<std::string> compressor_names();

}  // namespace penstock
