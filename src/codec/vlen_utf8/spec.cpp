// vlen-utf8: text of any length.
//
// Specification  https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/vlen-utf8
//                https://numcodecs.readthedocs.io/en/stable/other/vlen.html#vlenutf8
// Names          v3 "vlen-utf8"; v2 "vlen-utf8"
// Example        {"name": "vlen-utf8", "configuration": {}}
// Limits         fewer than 2^32 elements in a chunk and bytes in an element; elements must be UTF-8 (RFC 3629).
//                Elements are VlenRef in host memory; a decoded chunk's text is one block of the arena.
// Deviations     bytes after the last element are corrupt_data; numcodecs does not look at them.  The number of
//                elements must be that of the chunk.
#include "codec/vlen_bytes/vlen.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

class VlenUtf8Codec final : public ArrayToBytes {
 public:
  [[nodiscard]] CodecSpec spec() const override { return {"vlen-utf8", "{}"}; }
  [[nodiscard]] std::optional<std::uint64_t> encoded_size() const override { return std::nullopt; }
  [[nodiscard]] Status encode(ByteView in, Bytes& out) const override {
    PENSTOCK_TRY(check_utf8(in, ErrorCode::invalid_argument));
    return encode_vlen(in, out);
  }
  [[nodiscard]] Status decode(ByteView in, ByteSpan out, const DecodeContext& context) const override {
    if (context.arena == nullptr) return Error(ErrorCode::internal, "vlen-utf8 needs an arena");
    PENSTOCK_TRY(decode_vlen(in, out, *context.arena));
    return check_utf8(out, ErrorCode::corrupt_data);
  }
};

Result<AnyCodec> make(const Json& configuration, const ChunkSpec& chunk) {
  PENSTOCK_TRY(only_members(configuration, {}));
  if (chunk.dtype.kind != Kind::vlen_utf8)
    return Error(ErrorCode::invalid_metadata, "vlen-utf8 is for text of variable length, not " + chunk.dtype.name());
  return AnyCodec(std::make_unique<VlenUtf8Codec>());
}

}  // namespace

const CodecEntry kVlenUtf8Codec = {"vlen-utf8", {}, "vlen-utf8", make, nullptr, nullptr};

}  // namespace penstock
