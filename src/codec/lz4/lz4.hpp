// The codec "numcodecs.lz4".
#pragma once
#include <memory>

#include "codec/entry.hpp"

namespace penstock {
extern const CodecEntry kLz4Codec;

/// The codec on liblz4.  acceleration: 1 (best ratio) and up.
std::unique_ptr<BytesToBytes> make_lz4(int acceleration);
}  // namespace penstock
