// crc32: the CRC-32 of zlib and then the bytes.
//
// Specification  https://numcodecs.readthedocs.io/en/stable/checksum32.html  (RFC 1952, section 8)
// Names          v3 "numcodecs.crc32", alias "crc32"; v2 "crc32"
// Example        {"name": "numcodecs.crc32", "configuration": {"location": "start"}}
// Limits         location: "start" (the default) or "end"; the checksum is little-endian
// Deviations     none
#include <libdeflate.h>

#include "codec/checksum.hpp"
#include "codec/crc32/crc32.hpp"
#include "codec/support.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

std::uint32_t sum(ByteView bytes) { return libdeflate_crc32(0, bytes.data(), bytes.size()); }

Result<AnyCodec> make(const Json& configuration, const ChunkSpec& /*chunk*/) {
  PENSTOCK_TRY(only_members(configuration, {"location"}));
  PENSTOCK_ASSIGN(const ChecksumLocation location, checksum_location(configuration, ChecksumLocation::start));
  CodecSpec spec{"numcodecs.crc32", location_configuration(location, ChecksumLocation::start)};
  return AnyCodec(make_checksum(std::move(spec), location, sum, checksum::Sum::crc32));
}

constexpr std::string_view kAliases[] = {"crc32"};

}  // namespace

const CodecEntry kCrc32Codec = {"numcodecs.crc32", kAliases, "crc32", make, nullptr, nullptr};

}  // namespace penstock
