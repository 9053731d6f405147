// zstd: Zstandard frames.
//
// Specification  https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/zstd  (frames: RFC 8878)
// Names          v3 "zstd", alias "numcodecs.zstd"; v2 "zstd"
// Example        {"name": "zstd", "configuration": {"level": 3, "checksum": false}}
// Limits         level -131072 to 22.  Decoding: concatenated and skippable frames, frames without content size;
//                windows up to 128 MiB where the decoded size is not known beforehand
// Deviations     frames that need a dictionary are refused: zarr has no place to keep one.  A write of
//                many chunks at level 3 or 4 may search faster than libzstd at that level (array/encode_trial.cpp)
#include "codec/zstd/zstd.hpp"

#include "codec/support.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

Result<AnyCodec> make(const Json& configuration, const ChunkSpec& /*chunk*/) {
  PENSTOCK_TRY(only_members(configuration, {"level", "checksum"}));
  PENSTOCK_ASSIGN(const std::int64_t level, int_or(configuration, "level", 0, -131072, 22));
  PENSTOCK_ASSIGN(const bool checksum, bool_or(configuration, "checksum", false));
  return AnyCodec(make_zstd({static_cast<int>(level), checksum}));
}

/// zarr-python leaves `checksum` out when it is false, and tensorstore refuses a v2 zstd that has it.
Result<Json> to_v2(const CodecSpec& spec, const DType& /*dtype*/) {
  PENSTOCK_ASSIGN(const Json c, configuration_of(spec));
  PENSTOCK_ASSIGN(const std::int64_t level, int_or(c, "level", 0, -131072, 22));
  PENSTOCK_ASSIGN(const bool checksum, bool_or(c, "checksum", false));
  Json v2 = Json::object();
  v2["id"] = "zstd";
  v2["level"] = level;
  if (checksum) v2["checksum"] = true;
  return v2;
}

constexpr std::string_view kAliases[] = {"numcodecs.zstd"};

}  // namespace

const CodecEntry kZstdCodec = {"zstd", kAliases, "zstd", make, nullptr, to_v2};

}  // namespace penstock
