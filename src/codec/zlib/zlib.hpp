// The codec "numcodecs.zlib".
#pragma once
#include "codec/list.hpp"

namespace penstock {
extern const CodecEntry kZlibCodec;
}  // namespace penstock
