// The codec "numcodecs.crc32".
#pragma once
#include "codec/entry.hpp"

namespace penstock {
extern const CodecEntry kCrc32Codec;
}  // namespace penstock
