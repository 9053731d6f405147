// The codec "gzip".
#pragma once
#include "codec/entry.hpp"

namespace penstock {
extern const CodecEntry kGzipCodec;
}  // namespace penstock
