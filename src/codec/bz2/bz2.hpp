// The codec "numcodecs.bz2".
#pragma once
#include <memory>

#include "codec/entry.hpp"

namespace penstock {
extern const CodecEntry kBz2Codec;

/// The codec on libbz2.  level: 1 to 9.
std::unique_ptr<BytesToBytes> make_bz2(int level);
}  // namespace penstock
