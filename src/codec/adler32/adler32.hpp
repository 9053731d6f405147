// The codec "numcodecs.adler32".
#pragma once
#include "codec/entry.hpp"

namespace penstock {
extern const CodecEntry kAdler32Codec;
}  // namespace penstock
