// Codecs as they are written on the command line.
#pragma once
#include <string>
#include <vector>

#include "penstock/dataset.hpp"

namespace penstock::cli {

/// "zstd", "zstd:level=3", "blosc:cname=lz4,clevel=5", "none", a JSON object {"name": ..., "configuration": ...} or an
/// array of them.  Errors: invalid_argument (unknown codec, with the nearest one; its parameters).
/// Parameters that are not given are those of the codec for elements of `dtype`.
Result<std::vector<CodecSpec>> parse_codecs(const std::string& text, const DType& dtype);

}  // namespace penstock::cli
