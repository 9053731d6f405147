// vlen-bytes: byte strings of any length.
//
// Specification  https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/vlen-bytes
//                https://numcodecs.readthedocs.io/en/stable/other/vlen.html#vlenbytes
// Names          v3 "vlen-bytes"; v2 "vlen-bytes"
// Example        {"name": "vlen-bytes", "configuration": {}}
// Limits         fewer than 2^32 elements in a chunk and bytes in an element.  Elements are VlenRef in host memory; a
//                decoded chunk's bytes are one block of the arena.
// Deviations     bytes after the last element are corrupt_data; numcodecs does not look at them.  The number of
//                elements must be that of the chunk.
#include "codec/vlen_bytes/vlen.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

class VlenBytesCodec final : public ArrayToBytes {
 public:
  [[nodiscard]] CodecSpec spec() const override { return {"vlen-bytes", "{}"}; }
  [[nodiscard]] std::optional<std::uint64_t> encoded_size() const override { return std::nullopt; }
  [[nodiscard]] Status encode(ByteView in, Bytes& out) const override { return encode_vlen(in, out); }
  [[nodiscard]] Status decode(ByteView in, ByteSpan out, const DecodeContext& context) const override {
    if (context.arena == nullptr) return Error(ErrorCode::internal, "vlen-bytes needs an arena");
    return decode_vlen(in, out, *context.arena);
  }
};

Result<AnyCodec> make(const Json& configuration, const ChunkSpec& chunk) {
  PENSTOCK_TRY(only_members(configuration, {}));
  if (chunk.dtype.kind != Kind::vlen_bytes)
    return Error(ErrorCode::invalid_metadata, "vlen-bytes is for bytes of variable length, not " + chunk.dtype.name());
  return AnyCodec(std::make_unique<VlenBytesCodec>());
}

}  // namespace

const CodecEntry kVlenBytesCodec = {"vlen-bytes", {}, "vlen-bytes", make, nullptr, nullptr};

}  // namespace penstock
