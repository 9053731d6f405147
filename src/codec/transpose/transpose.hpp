// The codec "transpose": axes in another order.
#pragma once
#include "codec/entry.hpp"

namespace penstock {
extern const CodecEntry kTransposeCodec;
}  // namespace penstock
