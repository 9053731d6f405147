// zlib: DEFLATE in the zlib container.
//
// Specification  https://numcodecs.readthedocs.io/en/stable/compression/zlib.html  (RFC 1950, RFC 1951)
// Names          v3 "numcodecs.zlib", alias "zlib"; v2 "zlib"
// Example        {"name": "numcodecs.zlib", "configuration": {"level": 1}}
// Limits         level 0 to 9
// Deviations     encoded with libdeflate: other bytes than zlib makes at the same level, the same content; bytes after
//                the end of the stream are refused (numcodecs ignores them)
#include "codec/zlib/zlib.hpp"

#include "codec/deflate.hpp"
#include "codec/support.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

Result<AnyCodec> make(const Json& configuration, const ChunkSpec& /*chunk*/) {
  PENSTOCK_TRY(only_members(configuration, {"level"}));
  PENSTOCK_ASSIGN(std::int64_t level, int_or(configuration, "level", 1, -1, 9));
  if (level == -1) level = 6;  // zlib's own default
  return AnyCodec(make_deflate(DeflateContainer::zlib, static_cast<int>(level)));
}

constexpr std::string_view kAliases[] = {"zlib"};

}  // namespace

const CodecEntry kZlibCodec = {"numcodecs.zlib", kAliases, "zlib", make, nullptr, nullptr};

}  // namespace penstock
