// The codec "tiff.deflate".
#pragma once
#include "codec/entry.hpp"

namespace penstock {
extern const CodecEntry kTiffDeflateCodec;
}  // namespace penstock
