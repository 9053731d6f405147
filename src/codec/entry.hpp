// A row of the list of codecs (codec/list.cpp): how a codec is found and made.
#pragma once
#include <memory>
#include <span>
#include <string_view>
#include <variant>

#include "codec/codec.hpp"
#include "core/json_fwd.hpp"

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

}  // namespace penstock
