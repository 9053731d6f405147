// The codecs that penstock knows.  list.cpp is the one place where a codec is registered.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "codec/entry.hpp"

namespace penstock {

/// All codecs, in the order they are documented.
std::span<const CodecEntry> codec_list();
/// Codecs of files that are not zarr (TIFF): no metadata of zarr may name them.
std::span<const CodecEntry> file_codec_list();
/// By name; nullptr: not known.
const CodecEntry* find_file_codec(std::string_view name);
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
