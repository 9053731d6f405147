// tiff.bits: bytes of 0 or 255 to one bit each, as TIFF files keep masks.  Not for zarr metadata.
//
// Specification  TIFF 6.0, sections 8 (BitsPerSample) and 36 (the transparency mask)
// Example        {"name": "tiff.bits", "configuration": {}}
// Limits         elements of type uint8.  A row is the last dimension and begins with a byte of its own; the first
// element
//                is the highest bit.  What is not 0 becomes 1; 1 becomes 255, as GDAL shows masks
#include "codec/tiff_bits/tiff_bits.hpp"

#include <fmt/format.h>

#include <cstring>

#include "codec/support.hpp"
#include "core/checked.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

class TiffBitsCodec final : public ArrayToBytes {
 public:
  TiffBitsCodec(std::uint64_t rows, std::uint64_t width) : rows_(rows), width_(width) {}

  [[nodiscard]] CodecSpec spec() const override { return {"tiff.bits", "{}"}; }
  [[nodiscard]] std::optional<std::uint64_t> encoded_size() const override { return rows_ * row_bytes(); }

  [[nodiscard]] Status encode(ByteView in, Bytes& out) const override {
    PENSTOCK_TRY(expect(in.size(), rows_ * width_));
    PENSTOCK_TRY(out.resize_discard(*encoded_size()));
    if (out.size() > 0) std::memset(out.data(), 0, out.size());
    for (std::uint64_t r = 0; r < rows_; ++r) {
      const std::byte* const from = in.data() + r * width_;
      std::byte* const to = out.data() + r * row_bytes();
      for (std::uint64_t x = 0; x < width_; ++x)
        if (from[x] != std::byte{0}) to[x / 8] |= std::byte{0x80} >> static_cast<int>(x % 8);
    }
    return {};
  }

  [[nodiscard]] Status decode(ByteView in, ByteSpan out, const DecodeContext& /*context*/) const override {
    PENSTOCK_TRY(expect(in.size(), *encoded_size()));
    PENSTOCK_TRY(expect(out.size(), rows_ * width_));
    for (std::uint64_t r = 0; r < rows_; ++r) {
      const std::byte* const from = in.data() + r * row_bytes();
      std::byte* const to = out.data() + r * width_;
      for (std::uint64_t x = 0; x < width_; ++x) {
        const bool is_set = (from[x / 8] & (std::byte{0x80} >> static_cast<int>(x % 8))) != std::byte{0};
        to[x] = is_set ? std::byte{255} : std::byte{0};
      }
    }
    return {};
  }

 private:
  [[nodiscard]] std::uint64_t row_bytes() const { return div_up(width_, 8); }
  [[nodiscard]] static Status expect(std::uint64_t found, std::uint64_t wanted) {
    if (found == wanted) return {};
    return corrupt(fmt::format("{} bytes expected, {} found", wanted, found));
  }

  std::uint64_t rows_, width_;
};

Result<AnyCodec> make(const Json& configuration, const ChunkSpec& chunk) {
  PENSTOCK_TRY(only_members(configuration, {}));
  if (chunk.dtype != DType::uint8())
    return Error(ErrorCode::unsupported, fmt::format("bits of elements of type {}", chunk.dtype.name()));
  if (chunk.shape.empty()) return bad_configuration("a chunk of no dimensions has no rows");
  PENSTOCK_ASSIGN(const std::uint64_t elements, chunk.size_bytes());
  const std::uint64_t width = chunk.shape.back();
  return AnyCodec(std::make_unique<TiffBitsCodec>(width == 0 ? 0 : elements / width, width));
}

}  // namespace

const CodecEntry kTiffBitsCodec = {"tiff.bits", {}, "", make, nullptr, nullptr};

}  // namespace penstock
