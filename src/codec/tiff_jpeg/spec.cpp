// tiff.jpeg: elements of 8 bits to a JPEG stream, as TIFF files have them.  Not for zarr metadata; decoded only.
//
// Specification  ITU-T T.81; Adobe Photoshop TIFF Technical Note 2 (tables that all tiles share)
// Example        {"name": "tiff.jpeg", "configuration": {"samples": 1, "color": "none"}}
// Limits         uint8.  "tables": the shared tables, a stream of their own, as hexadecimal digits.  "color": "ycbcr"
// makes
//                RGB, as GDAL does; "none" leaves samples as they are.  "max_rows": a stream may have so many, those
//                behind the chunk's are left out, as in last strips; default the chunk's
#include "codec/tiff_jpeg/tiff_jpeg.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "codec/support.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

constexpr char kDigits[] = "0123456789abcdef";

std::string to_hex(ByteView bytes) {
  std::string out;
  for (const std::byte b : bytes) {
    out += kDigits[static_cast<unsigned>(b) >> 4];
    out += kDigits[static_cast<unsigned>(b) & 15];
  }
  return out;
}

Result<std::vector<std::byte>> from_hex(std::string_view text) {
  std::vector<std::byte> out;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const std::string_view digits = kDigits;
    const std::size_t high = digits.find(text[i]), low = i + 1 < text.size() ? digits.find(text[i + 1]) : digits.npos;
    if (high >= 16 || low >= 16) return bad_configuration("\"tables\" must be hexadecimal digits in pairs");
    out.push_back(static_cast<std::byte>(high << 4 | low));
  }
  return out;
}

class TiffJpegCodec final : public ArrayToBytes {
 public:
  TiffJpegCodec(const tiff::JpegImage& image, std::vector<std::byte> tables)
      : image_(image), tables_(std::move(tables)) {}

  [[nodiscard]] CodecSpec spec() const override {
    return {"tiff.jpeg", fmt::format(R"({{"samples":{},"color":"{}","max_rows":{},"tables":"{}"}})", image_.samples,
                                     image_.is_ycbcr ? "ycbcr" : "none", image_.max_height, to_hex(tables_))};
  }
  [[nodiscard]] std::optional<std::uint64_t> encoded_size() const override { return std::nullopt; }
  [[nodiscard]] Status encode(ByteView /*in*/, Bytes& /*out*/) const override {
    return Error(ErrorCode::unsupported, "JPEG is decoded, not encoded: it loses what it cannot keep");
  }
  [[nodiscard]] Status decode(ByteView in, ByteSpan out, const DecodeContext& /*context*/) const override {
    return tiff::decode_jpeg(tables_, in, image_, out);
  }

 private:
  tiff::JpegImage image_;
  std::vector<std::byte> tables_;
};

Result<AnyCodec> make(const Json& configuration, const ChunkSpec& chunk) {
  PENSTOCK_TRY(only_members(configuration, {"samples", "color", "max_rows", "tables"}));
  PENSTOCK_ASSIGN(const std::int64_t samples, int_or(configuration, "samples", 1, 1, 4));
  PENSTOCK_ASSIGN(const std::string color, string_or(configuration, "color", "none"));
  PENSTOCK_ASSIGN(const std::string hex, string_or(configuration, "tables", ""));
  if (color != "none" && color != "ycbcr")
    return bad_configuration("\"color\" must be \"none\" or \"ycbcr\", is \"" + color + "\"");
  if (color == "ycbcr" && samples != 3) return bad_configuration("\"color\" is \"ycbcr\": \"samples\" must be 3");
  if (chunk.dtype != DType::uint8())
    return Error(ErrorCode::unsupported, fmt::format("JPEG of elements of type {}", chunk.dtype.name()));
  const std::size_t row_dims = samples > 1 ? 2 : 1;
  if (chunk.shape.size() < row_dims || (samples > 1 && chunk.shape.back() != static_cast<std::uint64_t>(samples)))
    return bad_configuration(fmt::format("\"samples\" is {}, the chunk is {}", samples, to_string(chunk.shape)));
  PENSTOCK_ASSIGN(const std::uint64_t bytes, chunk.size_bytes());
  tiff::JpegImage image;
  image.samples = static_cast<std::uint32_t>(samples);
  image.is_ycbcr = color == "ycbcr";
  image.width = chunk.shape[chunk.shape.size() - row_dims];
  image.height = image.width == 0 ? 0 : bytes / image.width / image.samples;
  PENSTOCK_ASSIGN(const std::int64_t max_rows, int_or(configuration, "max_rows", 0, 0, 65535));
  image.max_height = std::max(image.height, static_cast<std::uint64_t>(max_rows));
  PENSTOCK_ASSIGN(std::vector<std::byte> tables, from_hex(hex));
  return AnyCodec(std::make_unique<TiffJpegCodec>(image, std::move(tables)));
}

}  // namespace

const CodecEntry kTiffJpegCodec = {"tiff.jpeg", {}, "", make, nullptr, nullptr};

}  // namespace penstock
