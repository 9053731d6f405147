// The codec "numcodecs.fletcher32".
#pragma once
#include "codec/entry.hpp"

namespace penstock {
extern const CodecEntry kFletcher32Codec;
}  // namespace penstock
