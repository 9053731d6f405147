// The codec "numcodecs.astype": elements stored as another number type.
#pragma once
#include "codec/entry.hpp"

namespace penstock {
extern const CodecEntry kAstypeCodec;
}  // namespace penstock
