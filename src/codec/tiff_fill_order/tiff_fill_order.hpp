// The codec "tiff.fill_order".
#pragma once
#include "codec/entry.hpp"

namespace penstock {
extern const CodecEntry kTiffFillOrderCodec;
}  // namespace penstock
