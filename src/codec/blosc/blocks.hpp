// Blosc buffers made block by block.
#pragma once
#include "codec/blosc/blosc.hpp"
#include "codec/codec.hpp"

namespace penstock::blosc {

/// Encodes blocks of `block_bytes`, the size that c-blosc chooses for an input of in.size() bytes, which is whole
/// blocks.  `out` is byte for byte what c-blosc makes of all at once.
/// False: the buffer would be larger than c-blosc lets it be; then c-blosc stores the input as it is.
Result<bool> encode_blocks(const BloscParameters& parameters, std::uint64_t block_bytes, PieceSource& in, Bytes& out);

}  // namespace penstock::blosc
