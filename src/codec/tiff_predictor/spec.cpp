// tiff.predictor: elements to bytes as differences along a row, as TIFF files have them.  Not for zarr metadata.
//
// Specification  TIFF 6.0, section 14 (predictor 2); Adobe Photoshop TIFF Technical Note 3 (predictor 3)
// Example        {"name": "tiff.predictor", "configuration": {"predictor": 2, "samples": 1, "endian": "little"}}
// Limits         2: numbers of 8 to 64 bits.  3: floating-point numbers of 16 to 64 bits; their bytes lie from the
//                highest to the lowest whatever "endian" says.  A row is the last dimension; with more than one sample
//                a pixel, which are the last dimension then, the last two
#include "codec/tiff_predictor/tiff_predictor.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "codec/bytes/swap.hpp"
#include "codec/support.hpp"
#include "codec/tiff_predictor/device.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

using tiff::PredictorRows;

class TiffPredictorCodec final : public ArrayToBytes {
 public:
  TiffPredictorCodec(int predictor, const PredictorRows& rows, DType dtype, bool little)
      : predictor_(predictor), rows_(rows), dtype_(std::move(dtype)), little_(little) {}

  [[nodiscard]] CodecSpec spec() const override {
    return {"tiff.predictor", fmt::format(R"({{"predictor":{},"samples":{},"endian":"{}"}})", predictor_, rows_.samples,
                                          little_ ? "little" : "big")};
  }
  [[nodiscard]] std::unique_ptr<DeviceDecoder> device_decoder() const override {
    return tiff::make_predictor_device_decoder({rows_, predictor_, !little_});
  }
  [[nodiscard]] std::optional<std::uint64_t> encoded_size() const override {
    return rows_.rows * rows_.row_items * rows_.item_bytes;
  }
  [[nodiscard]] Status encode(ByteView in, Bytes& out) const override {
    PENSTOCK_TRY(expect_size(in.size()));
    PENSTOCK_TRY(out.resize_discard(in.size()));
    if (predictor_ == 3) {
      tiff::make_float_bytes(rows_, in.data(), out.data());
      return {};
    }
    if (!in.empty()) std::memcpy(out.data(), in.data(), in.size());
    tiff::make_differences(rows_, out.data());
    if (swaps()) swap_units(out.span(), dtype_);
    return {};
  }
  [[nodiscard]] Status decode(ByteView in, ByteSpan out, const DecodeContext& /*context*/) const override {
    PENSTOCK_TRY(expect_size(in.size()));
    PENSTOCK_TRY(expect_size(out.size()));
    if (predictor_ == 3) {
      thread_local Bytes row;
      PENSTOCK_TRY(row.resize_discard(rows_.row_items * rows_.item_bytes));
      tiff::undo_float_bytes(rows_, in.data(), out.data(), row);
      return {};
    }
    if (swaps()) swap_units(in, out, dtype_);
    tiff::undo_differences(rows_, swaps() ? out.data() : in.data(), out.data());
    return {};
  }

 private:
  [[nodiscard]] bool swaps() const { return little_ != (std::endian::native == std::endian::little); }
  [[nodiscard]] Status expect_size(std::uint64_t bytes) const {
    if (bytes == *encoded_size()) return {};
    return corrupt(fmt::format("{} bytes expected, {} found", *encoded_size(), bytes));
  }

  int predictor_;
  PredictorRows rows_;
  DType dtype_;
  bool little_;
};

Result<PredictorRows> rows_of(const ChunkSpec& chunk, std::uint64_t samples) {
  PredictorRows rows;
  const std::size_t row_dims = samples > 1 ? 2 : 1;
  if (chunk.shape.size() < row_dims || (samples > 1 && chunk.shape.back() != samples))
    return bad_configuration(fmt::format("\"samples\" is {}, the chunk is {}", samples, to_string(chunk.shape)));
  PENSTOCK_ASSIGN(const std::uint64_t bytes, chunk.size_bytes());
  rows.samples = samples;
  rows.item_bytes = chunk.dtype.size_bytes;
  rows.row_items = chunk.shape.back() * (samples > 1 ? chunk.shape[chunk.shape.size() - 2] : 1);
  const std::uint64_t row_bytes = rows.row_items * rows.item_bytes;
  rows.rows = row_bytes == 0 ? 0 : bytes / row_bytes;
  return rows;
}

Result<AnyCodec> make(const Json& configuration, const ChunkSpec& chunk) {
  PENSTOCK_TRY(only_members(configuration, {"predictor", "samples", "endian"}));
  PENSTOCK_ASSIGN(const std::int64_t predictor, int_or(configuration, "predictor", 2, 2, 3));
  PENSTOCK_ASSIGN(const std::int64_t samples, int_or(configuration, "samples", 1, 1, 65535));
  PENSTOCK_ASSIGN(const std::string endian, string_or(configuration, "endian", "little"));
  if (endian != "little" && endian != "big")
    return bad_configuration("\"endian\" must be \"little\" or \"big\", is \"" + endian + "\"");
  const DType& dtype = chunk.dtype;
  const bool is_float = dtype.kind == Kind::floating;
  const bool is_number = is_float || dtype.kind == Kind::signed_int || dtype.kind == Kind::unsigned_int;
  if (predictor == 2 ? !is_number : !is_float)
    return Error(ErrorCode::unsupported, fmt::format("predictor {} of elements of type {}", predictor, dtype.name()));
  PENSTOCK_ASSIGN(const PredictorRows rows, rows_of(chunk, static_cast<std::uint64_t>(samples)));
  return AnyCodec(std::make_unique<TiffPredictorCodec>(static_cast<int>(predictor), rows, dtype, endian == "little"));
}

}  // namespace

const CodecEntry kTiffPredictorCodec = {"tiff.predictor", {}, "", make, nullptr, nullptr};

}  // namespace penstock
