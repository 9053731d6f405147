// gzip: DEFLATE in the gzip container.
//
// Specification  https://zarr-specs.readthedocs.io/en/latest/v3/codecs/gzip/index.html  (RFC 1951, RFC 1952)
// Names          v3 "gzip", alias "numcodecs.gzip"; v2 "gzip"
// Example        {"name": "gzip", "configuration": {"level": 5}}
// Limits         level 0 to 9; several members one after another are decoded as one; zero bytes may follow
// Deviations     encoded with libdeflate: other bytes than zlib makes at the same level, the same content
#include "codec/deflate.hpp"
#include "codec/gzip/gzip.hpp"
#include "codec/support.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

Result<AnyCodec> make(const Json& configuration, const ChunkSpec& /*chunk*/) {
  PENSTOCK_TRY(only_members(configuration, {"level"}));
  PENSTOCK_ASSIGN(const std::int64_t level, int_or(configuration, "level", 5, 0, 9));
  return AnyCodec(make_deflate(DeflateContainer::gzip, static_cast<int>(level)));
}

constexpr std::string_view kAliases[] = {"numcodecs.gzip"};

}  // namespace

const CodecEntry kGzipCodec = {"gzip", kAliases, "gzip", make, nullptr, nullptr};

}  // namespace penstock
