// The codec "tiff.packbits".
#pragma once
#include "codec/entry.hpp"

namespace penstock {
extern const CodecEntry kTiffPackbitsCodec;
}  // namespace penstock
