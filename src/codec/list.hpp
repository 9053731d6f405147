// The codecs that penstock knows.  list.cpp is the one place where a codec is registered.
#pragma once
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "codec/codec.hpp"
#include "core/json.hpp"

namespace penstock {

using AnyCodec =
    std::variant<std::unique_ptr<ArrayToArray>, std::unique_ptr<ArrayToBytes>, std::unique_ptr<BytesToBytes>>;

/// How a codec is found and made.
struct CodecEntry {
  std::string_view name;                      ///< zarr v3 name
  std::span<const std::string_view> aliases;  ///< other v3 names ("numcodecs.zstd")
  std::string_view v2_id;                     ///< id in zarr v2 metadata; empty: none
  /// Makes the codec for chunks that look like `chunk` where it stands in the chain.
  /// bytes->bytes codecs get the ChunkSpec of the array->bytes codec before them (element size of shuffle, ...).
  /// Errors: invalid_metadata (names the member of the configuration), unsupported.
  Result<AnyCodec> (*make)(const Json& configuration, const ChunkSpec& chunk);
  /// Translates a v2 configuration object ({"id": ..., ...}) to v3 name and configuration; nullptr: same members, less
  /// id.
  Result<CodecSpec> (*from_v2)(const Json& v2, const DType& dtype);
  /// The reverse, for writing v2; nullptr: same members plus id.  Errors: unsupported (no v2 form).
  Result<Json> (*to_v2)(const CodecSpec& spec, const DType& dtype);
};

/// All codecs, in the order they are documented.
std::span<const CodecEntry> codec_list();
/// By v3 name or alias; nullptr: not known.
const CodecEntry* find_codec(std::string_view name);
/// By v2 id; nullptr: not known.
const CodecEntry* find_codec_v2(std::string_view id);
/// A v2 compressor or filter object ({"id": ...}) as v3 name and configuration.  `dtype`: elements that it gets.
/// Errors: unsupported (no such id), invalid_metadata.
Result<CodecSpec> codec_from_v2(const Json& v2, const DType& dtype);
/// The reverse.  Errors: unsupported (no such codec, or it has no v2 form).
Result<Json> codec_to_v2(const CodecSpec& spec, const DType& dtype);
/// A list of codecs as v3 metadata has it: [{"name": ..., "configuration": {...}}, "name", ...].
/// Errors: invalid_metadata naming the item.
Result<std::vector<CodecSpec>> codecs_from_json(const Json& list);
/// The reverse.  Errors: invalid_metadata (a configuration that is not JSON).
Result<Json> codecs_to_json(std::span<const CodecSpec> specs);
/// "no codec 'zstdd'; did you mean zstd? known: ..."
Error unknown_codec(std::string_view name);

}  // namespace penstock
