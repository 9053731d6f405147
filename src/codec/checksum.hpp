// Codecs that put a 32-bit checksum before or after the bytes and check it on decoding.
#pragma once
#include <functional>
#include <memory>
#include <optional>

#include "codec/checksum/sums.hpp"
#include "codec/entry.hpp"

namespace penstock {

enum class ChecksumLocation : std::uint8_t { start, end };

/// `sum` must be safe to call from many threads.
using ChecksumFunction = std::function<std::uint32_t(ByteView)>;

/// A checksum codec that is written as `spec`.  The checksum is stored little-endian.  `device`: which one it is, when
/// a device can check it.
std::unique_ptr<BytesToBytes> make_checksum(CodecSpec spec, ChecksumLocation location, ChecksumFunction sum,
                                            std::optional<checksum::Sum> device);

/// The member "location" ("start" or "end"); absent: `fallback`.  Errors: invalid_metadata.
Result<ChecksumLocation> checksum_location(const Json& configuration, ChecksumLocation fallback);

/// Configuration text that says `location`; empty object when it is `fallback`.
std::string location_configuration(ChecksumLocation location, ChecksumLocation fallback);

}  // namespace penstock
