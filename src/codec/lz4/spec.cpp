// lz4: one LZ4 block after its decoded size.
//
// Specification  https://numcodecs.readthedocs.io/en/stable/compression/lz4.html
//                https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md
// Format         decoded size, 4 bytes little-endian; the block
// Names          v3 "numcodecs.lz4", alias "lz4"; v2 "lz4"
// Example        {"name": "numcodecs.lz4", "configuration": {"acceleration": 1}}
// Limits         chunks of at most 2,113,929,216 bytes (the block format's own limit)
// Deviations     none in valid data.  A match offset of 0, which the format calls corrupt, is accepted by liblz4
#include "codec/lz4/lz4.hpp"

#include <algorithm>

#include "codec/support.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

Result<AnyCodec> make(const Json& configuration, const ChunkSpec& /*chunk*/) {
  PENSTOCK_TRY(only_members(configuration, {"acceleration"}));
  PENSTOCK_ASSIGN(const std::int64_t acceleration, int_or(configuration, "acceleration", 1, INT32_MIN, INT32_MAX));
  return AnyCodec(make_lz4(static_cast<int>(std::max<std::int64_t>(acceleration, 1))));
}

constexpr std::string_view kAliases[] = {"lz4"};

}  // namespace

const CodecEntry kLz4Codec = {"numcodecs.lz4", kAliases, "lz4", make, nullptr, nullptr};

}  // namespace penstock
