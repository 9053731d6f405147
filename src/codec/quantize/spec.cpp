// numcodecs.quantize: floats rounded to a number of decimal digits, in binary steps, so that they compress better.
//
// Specification  https://numcodecs.readthedocs.io/en/stable/filter/quantize.html
//                https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/numcodecs.quantize
// Names          v3 "numcodecs.quantize"; v2 "quantize"
// Example        {"name": "numcodecs.quantize", "configuration": {"digits": 3, "dtype": "<f8", "astype": "<f4"}}
// Limits         float16, float32, float64; "digits" from -300 to 300.  "astype" may be left out: as "dtype";
//                "dtype" may be left out: the array's type.
// Deviations     where the step is too fine for the type (float16 from 5 digits on), numcodecs stores infinities and
//                NaN; here writing is refused.  Reading is the same: it only converts the type.
//                Types of the other byte order are refused in v3, as in astype.
#include "codec/quantize/quantize.hpp"

#include <fmt/format.h>

#include <cmath>

#include "codec/astype/kernel.hpp"
#include "codec/elementwise.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

class QuantizeCodec final : public ArrayToArray {
 public:
  QuantizeCodec(int digits, FilterType dtype, FilterType astype, ChunkSpec encoded)
      : digits_(digits),
        scale_(quantize_scale(digits)),
        dtype_(std::move(dtype)),
        astype_(std::move(astype)),
        encoded_(std::move(encoded)) {}

  [[nodiscard]] CodecSpec spec() const override {
    return {"numcodecs.quantize",
            dump_json(Json{{"digits", digits_}, {"dtype", dtype_.text}, {"astype", astype_.text}})};
  }
  [[nodiscard]] std::unique_ptr<DeviceDecoder> device_decoder() const override {
    if (astype_.scalars.number == dtype_.scalars.number) return std::make_unique<elementwise::Identity>();
    const ConvertFilter filter{device_scalar(astype_.scalars.number), device_scalar(dtype_.scalars.number)};
    return std::make_unique<elementwise::Decoder<ConvertFilter>>("quantize", filter);
  }
  [[nodiscard]] const ChunkSpec& encoded() const override { return encoded_; }
  [[nodiscard]] Status encode(ByteView in, ByteSpan out) const override {
    if (!scale_is_usable())
      return Error(ErrorCode::unsupported, fmt::format("{} digits are too many for '{}'", digits_, dtype_.text))
          .set_hint("give fewer digits, or leave the filter out");
    const std::size_t count = in.size() / dtype_.dtype.size_bytes;
    PENSTOCK_TRY(expect_size(out.size(), std::uint64_t{count} * astype_.dtype.size_bytes));
    quantize(dtype_.scalars.number, astype_.scalars.number, scale_, in.data(), out.data(), count);
    return {};
  }
  [[nodiscard]] Status decode(ByteView in, ByteSpan out) const override {
    const std::size_t count = out.size() / dtype_.dtype.size_bytes;
    PENSTOCK_TRY(expect_size(in.size(), std::uint64_t{count} * astype_.dtype.size_bytes));
    cast_function(astype_.scalars.number, dtype_.scalars.number)(in.data(), out.data(), count);
    return {};
  }

 private:
  /// Whether the type can hold the scale.
  [[nodiscard]] bool scale_is_usable() const {
    const double largest = dtype_.scalars.number == Number::f2   ? 65504
                           : dtype_.scalars.number == Number::f4 ? 0x1p127
                                                                 : 0x1p1023;
    const double least = dtype_.scalars.number == Number::f2   ? 0x1p-24
                         : dtype_.scalars.number == Number::f4 ? 0x1p-149
                                                               : 0x1p-1074;
    return scale_ >= least && scale_ <= largest;
  }

  int digits_;
  double scale_;
  FilterType dtype_;
  FilterType astype_;
  ChunkSpec encoded_;
};

Result<AnyCodec> make(const Json& configuration, const ChunkSpec& chunk) {
  PENSTOCK_TRY(only_members(configuration, {"digits", "dtype", "astype"}));
  PENSTOCK_ASSIGN(const std::int64_t digits, int_member(configuration, "digits", -300, 300));
  PENSTOCK_ASSIGN(FilterType dtype, filter_type(configuration, "dtype", chunk.dtype));
  PENSTOCK_ASSIGN(FilterType astype, filter_type(configuration, "astype", dtype.dtype));
  PENSTOCK_TRY(need_native_order(dtype, "dtype"));
  PENSTOCK_TRY(need_native_order(astype, "astype"));
  for (const FilterType* type : {&dtype, &astype})
    if (!is_float(type->scalars.number) || type->scalars.count != 1)
      return Error(ErrorCode::invalid_metadata, fmt::format("quantize takes floats, not '{}'", type->text));
  PENSTOCK_ASSIGN(const ChunkSpec seen, view_as(chunk, dtype.dtype));
  PENSTOCK_ASSIGN(ChunkSpec encoded, with_dtype(seen, astype.dtype));
  return AnyCodec(std::make_unique<QuantizeCodec>(static_cast<int>(digits), std::move(dtype), std::move(astype),
                                                  std::move(encoded)));
}

/// "astype" is always written in v2.
Result<CodecSpec> from_v2(const Json& v2, const DType& dtype) {
  PENSTOCK_TRY(only_members(v2, {"id", "digits", "dtype", "astype"}));
  PENSTOCK_ASSIGN(const std::int64_t digits, int_member(v2, "digits", -300, 300));
  PENSTOCK_ASSIGN(const FilterType type, filter_type(v2, "dtype", dtype));
  PENSTOCK_ASSIGN(const FilterType astype, filter_type(v2, "astype", type.dtype));
  return CodecSpec{"numcodecs.quantize",
                   dump_json(Json{{"digits", digits}, {"dtype", type.text}, {"astype", astype.text}})};
}

}  // namespace

const CodecEntry kQuantizeCodec = {"numcodecs.quantize", {}, "quantize", make, from_v2, nullptr};

}  // namespace penstock
