// The codec "gzip".
#pragma once
#include "codec/list.hpp"

namespace penstock {
extern const CodecEntry kGzipCodec;
}  // namespace penstock
