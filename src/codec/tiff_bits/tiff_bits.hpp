// The codec "tiff.bits".
#pragma once
#include "codec/entry.hpp"

namespace penstock {
extern const CodecEntry kTiffBitsCodec;
}  // namespace penstock
