// tiff.zstd: Zstandard frames, as TIFF files have them.  Not for zarr metadata.
//
// Specification  RFC 8878; compression 50000 of libtiff
// Example        {"name": "tiff.zstd", "configuration": {"level": 9}}
// Limits         level 1 to 22.  Decoding ends when the strip or tile is full
#include "codec/tiff_zstd/tiff_zstd.hpp"

#include "codec/support.hpp"
#include "codec/zstd/zstd.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

Result<AnyCodec> make(const Json& configuration, const ChunkSpec& /*chunk*/) {
  PENSTOCK_TRY(only_members(configuration, {"level", "checksum"}));
  PENSTOCK_ASSIGN(const std::int64_t level, int_or(configuration, "level", 9, 1, 22));
  PENSTOCK_ASSIGN(const bool checksum, bool_or(configuration, "checksum", false));
  return AnyCodec(
      make_zstd({static_cast<int>(level), checksum, ZstdParameters::Search::of_the_level, StreamEnd::full_output}));
}

}  // namespace

const CodecEntry kTiffZstdCodec = {"tiff.zstd", {}, "", make, nullptr, nullptr};

}  // namespace penstock
