// The golden cases of tests/golden/filters, read from JSON, and a codec of any kind run on them.
#pragma once
#include <string>
#include <vector>

#include "codec/list.hpp"
#include "core/json.hpp"

namespace penstock::test {

struct GoldenCase {
  std::string text;  ///< the case's line, shortened, for messages
  Json v2;           ///< null for cases that v3 metadata names
  CodecSpec spec;
  ChunkSpec chunk;
  std::vector<std::string> strings;  ///< what the elements of variable length point to
  std::string decoded;               ///< bytes of the chunk
  std::string encoded;
  std::string restored;
  bool encodable = true;
};

/// All cases; fails the test when the file cannot be read.
std::vector<GoldenCase> golden_cases();

/// Elements of variable length as VlenRef, as bytes of a chunk.
std::string as_elements(const std::vector<std::string>& strings);

/// The codec of the case.
Result<AnyCodec> make_codec(const CodecSpec& spec, const ChunkSpec& chunk);
/// Runs a codec of any kind on a whole chunk.  `decoded_size`: bytes of the chunk.
Result<std::string> encode(const AnyCodec& codec, const std::string& decoded);
Result<std::string> decode(const AnyCodec& codec, const std::string& encoded, std::size_t decoded_size, Arena& arena);

}  // namespace penstock::test
