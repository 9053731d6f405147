// The codec "tiff.zstd".
#pragma once
#include "codec/entry.hpp"

namespace penstock {
extern const CodecEntry kTiffZstdCodec;
}  // namespace penstock
