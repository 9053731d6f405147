// tiff.lzw: LZW as TIFF files have it.  Not for zarr metadata.
//
// Specification  TIFF 6.0, section 13 (https://www.itu.int/itudoc/itu-t/com16/tiff-fx/docs/tiff6.pdf)
// Example        {"name": "tiff.lzw", "configuration": {"variant": "standard"}}
// Limits         codes of at most 12 bits.  A full table adds nothing more until the next Clear code
// Deviations     what follows the last byte that is wanted is not looked at: some writers leave the end code away, or
//                put it one bit too short
#include "codec/support.hpp"
#include "codec/tiff_lzw/device.hpp"
#include "codec/tiff_lzw/tiff_lzw.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

using tiff::LzwVariant;

class TiffLzwCodec final : public BytesToBytes {
 public:
  explicit TiffLzwCodec(LzwVariant variant) : variant_(variant) {}
  [[nodiscard]] CodecSpec spec() const override {
    return {"tiff.lzw", variant_ == LzwVariant::standard ? "{}" : R"({"variant":"old_style"})"};
  }
  [[nodiscard]] std::unique_ptr<DeviceDecoder> device_decoder() const override {
    return tiff::make_lzw_device_decoder(variant_);
  }
  [[nodiscard]] std::optional<std::uint64_t> encoded_size(std::uint64_t /*decoded*/) const override {
    return std::nullopt;
  }
  /// Files may have a Clear code before every byte, and garbage behind the end.
  [[nodiscard]] std::uint64_t max_encoded_size(std::uint64_t decoded) const override { return 4 * decoded + 65536; }
  [[nodiscard]] Status encode(ByteView in, Bytes& out) const override {
    if (variant_ != LzwVariant::standard) return Error(ErrorCode::unsupported, "old-style LZW is read, not written");
    return tiff::encode_lzw(in, out);
  }
  [[nodiscard]] Status decode(ByteView in, Sink& out) const override {
    if (!out.expected()) return Error(ErrorCode::unsupported, "LZW needs to know how many bytes it makes");
    PENSTOCK_ASSIGN(const ByteSpan to, out.reserve(*out.expected()));
    PENSTOCK_TRY(tiff::decode_lzw(in, to, variant_));
    return out.finish(to.size());
  }

 private:
  LzwVariant variant_;
};

Result<AnyCodec> make(const Json& configuration, const ChunkSpec& /*chunk*/) {
  PENSTOCK_TRY(only_members(configuration, {"variant"}));
  PENSTOCK_ASSIGN(const std::string variant, string_or(configuration, "variant", "standard"));
  if (variant != "standard" && variant != "old_style")
    return bad_configuration("\"variant\" must be \"standard\" or \"old_style\", is \"" + variant + "\"");
  return AnyCodec(std::make_unique<TiffLzwCodec>(variant == "standard" ? LzwVariant::standard : LzwVariant::old_style));
}

}  // namespace

const CodecEntry kTiffLzwCodec = {"tiff.lzw", {}, "", make, nullptr, nullptr};

}  // namespace penstock
