// tiff.deflate: DEFLATE in the zlib container, as TIFF files have it.  Not for zarr metadata.
//
// Specification  Adobe Photoshop TIFF Technical Note 3 (RFC 1950, RFC 1951)
// Example        {"name": "tiff.deflate", "configuration": {"level": 6}}
// Limits         level 0 to 9.  Decoding ends when the strip or tile is full: the last strip of a file is often stored
//                as long as the others, and bytes may follow.  A checksum is looked at where it follows the last byte
#include "codec/tiff_deflate/tiff_deflate.hpp"

#include "codec/deflate.hpp"
#include "codec/support.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

Result<AnyCodec> make(const Json& configuration, const ChunkSpec& /*chunk*/) {
  PENSTOCK_TRY(only_members(configuration, {"level"}));
  PENSTOCK_ASSIGN(const std::int64_t level, int_or(configuration, "level", 6, 0, 9));
  return AnyCodec(make_deflate(DeflateContainer::zlib, static_cast<int>(level), StreamEnd::full_output));
}

}  // namespace

const CodecEntry kTiffDeflateCodec = {"tiff.deflate", {}, "", make, nullptr, nullptr};

}  // namespace penstock
