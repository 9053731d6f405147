// DEFLATE on the CPU, for the codecs gzip and zlib.
#pragma once
#include <memory>

#include "codec/codec.hpp"

namespace penstock {

enum class DeflateContainer : std::uint8_t { gzip, zlib };

/// level: 0 to 9.  libdeflate where the decoded size is known, zlib where it is not.
std::unique_ptr<BytesToBytes> make_deflate(DeflateContainer container, int level);

}  // namespace penstock
