// adler32: the Adler-32 of zlib and then the bytes.
//
// Specification  https://numcodecs.readthedocs.io/en/stable/checksum32.html  (RFC 1950, section 9)
// Names          v3 "numcodecs.adler32", alias "adler32"; v2 "adler32"
// Example        {"name": "numcodecs.adler32", "configuration": {"location": "start"}}
// Limits         location: "start" (the default) or "end"; the checksum is little-endian
// Deviations     none
#include <libdeflate.h>

#include "codec/adler32/adler32.hpp"
#include "codec/checksum.hpp"
#include "codec/support.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

std::uint32_t sum(ByteView bytes) { return libdeflate_adler32(1, bytes.data(), bytes.size()); }

Result<AnyCodec> make(const Json& configuration, const ChunkSpec& /*chunk*/) {
  PENSTOCK_TRY(only_members(configuration, {"location"}));
  PENSTOCK_ASSIGN(const ChecksumLocation location, checksum_location(configuration, ChecksumLocation::start));
  CodecSpec spec{"numcodecs.adler32", location_configuration(location, ChecksumLocation::start)};
  return AnyCodec(make_checksum(std::move(spec), location, sum, checksum::Sum::adler32));
}

constexpr std::string_view kAliases[] = {"adler32"};

}  // namespace

const CodecEntry kAdler32Codec = {"numcodecs.adler32", kAliases, "adler32", make, nullptr, nullptr};

}  // namespace penstock
