// crc32c: the bytes and then their CRC-32C, little-endian.
//
// Specification  https://zarr-specs.readthedocs.io/en/latest/v3/codecs/crc32c/index.html  (RFC 3720, section 12.1)
// Names          v3 "crc32c", alias "numcodecs.crc32c"; v2 "crc32c"
// Example        {"name": "crc32c"}
// Limits         none
// Deviations     "location": "start" (numcodecs) puts the checksum first; such a chunk is not v3's crc32c and is
//                written under the name numcodecs.crc32c
#include "codec/checksum.hpp"
#include "codec/crc32c/crc32c.hpp"
#include "codec/support.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

std::string name_for(ChecksumLocation location) {
  return location == ChecksumLocation::end ? "crc32c" : "numcodecs.crc32c";
}

Result<AnyCodec> make(const Json& configuration, const ChunkSpec& /*chunk*/) {
  PENSTOCK_TRY(only_members(configuration, {"location"}));
  PENSTOCK_ASSIGN(const ChecksumLocation location, checksum_location(configuration, ChecksumLocation::end));
  CodecSpec spec{name_for(location), location_configuration(location, ChecksumLocation::end)};
  return AnyCodec(
      make_checksum(std::move(spec), location, [](ByteView bytes) { return crc32c(bytes); }, checksum::Sum::crc32c));
}

/// v3's own crc32c knows no "location": it is said only where it is "start", under the name that allows it.
Result<CodecSpec> from_v2(const Json& v2, const DType& /*dtype*/) {
  PENSTOCK_TRY(only_members(v2, {"id", "location"}));
  PENSTOCK_ASSIGN(const ChecksumLocation location, checksum_location(v2, ChecksumLocation::end));
  return CodecSpec{name_for(location), location_configuration(location, ChecksumLocation::end)};
}

constexpr std::string_view kAliases[] = {"numcodecs.crc32c"};

}  // namespace

const CodecEntry kCrc32cCodec = {"crc32c", kAliases, "crc32c", make, from_v2, nullptr};

}  // namespace penstock
