// The codec cases of the contract harness: every codec, alone and in chains, for the element types it takes.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "codec/chain.hpp"

namespace penstock::contract {

/// A chain of codecs, given the chunk.
struct Case {
  std::string codec;  ///< v3 name of the codec that the case is about
  std::string label;  ///< unique: "zstd level 19"
  std::function<std::vector<CodecSpec>(const ChunkSpec&)> chain;
  bool checked = false;  ///< a checksum covers the chunk: any flipped bit must be noticed
  /// Whether decoding gives back the very elements that were encoded.
  std::function<bool(const DType&)> lossless = [](const DType&) { return true; };
  bool padded = false;  ///< the encoded chunk ends with filling that may be missing
};

/// All cases, in the order of the codec list.
std::vector<Case> codec_cases();
/// Element types that a harness tries; a chain that refuses one with a reason is counted as "not supported".
std::vector<DType> codec_dtypes();
/// Chunk shapes: empty, one element, odd extents, several thousand elements.
std::vector<Shape> codec_shapes();

/// Name of a type for messages ("uint16").
std::string type_name(const DType& dtype);
/// Values as instruments make them, in native order: compressible, not trivial, valid for the type.
std::vector<std::byte> sample(const ChunkSpec& chunk);

/// Equal elements; variable-length ones by content.
bool same_elements(const DType& dtype, ByteView a, ByteView b);

}  // namespace penstock::contract
