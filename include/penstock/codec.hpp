// Codecs by their names, and as people write them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "penstock/dataset.hpp"

namespace penstock {

/// The names of a codec.
struct CodecNames {
  std::string name;                  ///< in zarr v3: "zstd", "numcodecs.lz4"
  std::vector<std::string> aliases;  ///< other v3 names that are read as this one
  std::string v2_id;                 ///< in zarr v2; empty: none
};
/// All codecs that penstock knows, in the order they are documented.
std::vector<CodecNames> codec_names();

/// Compressors as people write them: "zstd", "zstd:level=3", "blosc:cname=lz4,clevel=5", "none", a JSON object
/// {"name": ..., "configuration": ...} or an array of them; names are any of CodecNames.  Every parameter is written
/// out in the result; those that are not given are the codec's defaults for elements of `dtype`. Errors:
/// invalid_argument (no such codec, with the nearest name; one that does not compress; a bad parameter).
Result<std::vector<CodecSpec>> parse_codecs(const std::string& text, const DType& dtype);

/// The short names that `parse_codecs` takes as they are, without parameters: "none", "zstd", "blosc", ...
std::vector<std::string> compressor_names();

}  // namespace penstock
