// DEFLATE on the CPU, for the codecs gzip, zlib and tiff.deflate.
#pragma once
#include <memory>

#include "codec/codec.hpp"
#include "codec/stream.hpp"

namespace penstock {

enum class DeflateContainer : std::uint8_t { gzip, zlib };

/// level: 0 to 9.  Decoded by libdeflate where the decoded size is known (zlib's container: by deflate/inflate.hpp
/// where that is quicker), by zlib where it is not.  With an end at the full output it is the codec of TIFF files,
/// which is zlib's container.
std::unique_ptr<BytesToBytes> make_deflate(DeflateContainer container, int level, StreamEnd end = StreamEnd::of_input);

}  // namespace penstock
