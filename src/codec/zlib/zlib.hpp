// The codec "numcodecs.zlib".
#pragma once
#include "codec/entry.hpp"

namespace penstock {
extern const CodecEntry kZlibCodec;
}  // namespace penstock
