// bz2: bzip2 streams.
//
// Specification  https://numcodecs.readthedocs.io/en/stable/compression/bz2.html  (https://sourceware.org/bzip2/)
// Names          v3 "numcodecs.bz2", alias "bz2"; v2 "bz2"
// Example        {"name": "numcodecs.bz2", "configuration": {"level": 1}}
// Limits         level 1 to 9; several streams one after another are decoded as one
// Deviations     bytes after the last stream are refused (numcodecs ignores them)
#include "codec/bz2/bz2.hpp"

#include "codec/support.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

Result<AnyCodec> make(const Json& configuration, const ChunkSpec& /*chunk*/) {
  PENSTOCK_TRY(only_members(configuration, {"level"}));
  PENSTOCK_ASSIGN(const std::int64_t level, int_or(configuration, "level", 1, 1, 9));
  return AnyCodec(make_bz2(static_cast<int>(level)));
}

constexpr std::string_view kAliases[] = {"bz2"};

}  // namespace

const CodecEntry kBz2Codec = {"numcodecs.bz2", kAliases, "bz2", make, nullptr, nullptr};

}  // namespace penstock
