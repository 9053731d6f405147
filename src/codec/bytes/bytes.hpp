// The codec "bytes": elements as they are, in a stated byte order.
#pragma once
#include "codec/entry.hpp"

namespace penstock {
extern const CodecEntry kBytesCodec;
}  // namespace penstock
