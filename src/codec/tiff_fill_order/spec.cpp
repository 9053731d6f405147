// tiff.fill_order: the bits of each byte in the other order, as TIFF files with FillOrder 2 have them.  Not for zarr
// metadata.
//
// Specification  TIFF 6.0, FillOrder (266): 2, the first bit is the lowest one
// Example        {"name": "tiff.fill_order", "configuration": {}}
// Limits         none
#include "codec/tiff_fill_order/tiff_fill_order.hpp"

#include <algorithm>
#include <array>

#include "codec/support.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

constexpr std::array<std::byte, 256> kReversed = [] {
  std::array<std::byte, 256> table{};
  for (unsigned value = 0; value < 256; ++value) {
    unsigned reversed = 0;
    for (unsigned bit = 0; bit < 8; ++bit) reversed |= (value >> bit & 1U) << (7 - bit);
    table[value] = static_cast<std::byte>(reversed);
  }
  return table;
}();

void reverse(ByteView in, std::byte* out) {
  std::ranges::transform(in, out, [](std::byte b) { return kReversed[static_cast<std::size_t>(b)]; });
}

class TiffFillOrderCodec final : public BytesToBytes {
 public:
  [[nodiscard]] CodecSpec spec() const override { return {"tiff.fill_order", "{}"}; }
  [[nodiscard]] std::optional<std::uint64_t> encoded_size(std::uint64_t decoded) const override { return decoded; }
  [[nodiscard]] std::uint64_t max_encoded_size(std::uint64_t decoded) const override { return decoded; }
  [[nodiscard]] Status encode(ByteView in, Bytes& out) const override {
    PENSTOCK_TRY(out.resize_discard(in.size()));
    reverse(in, out.data());
    return {};
  }
  [[nodiscard]] Status decode(ByteView in, Sink& out) const override {
    PENSTOCK_ASSIGN(const ByteSpan to, out.reserve(in.size()));
    reverse(in, to.data());
    return out.finish(to.size());
  }
};

Result<AnyCodec> make(const Json& configuration, const ChunkSpec& /*chunk*/) {
  PENSTOCK_TRY(only_members(configuration, {}));
  return AnyCodec(std::make_unique<TiffFillOrderCodec>());
}

}  // namespace

const CodecEntry kTiffFillOrderCodec = {"tiff.fill_order", {}, "", make, nullptr, nullptr};

}  // namespace penstock
