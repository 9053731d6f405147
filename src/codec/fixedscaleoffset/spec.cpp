// numcodecs.fixedscaleoffset: stores around((x - offset) * scale), usually as small integers.
//
// Specification  https://numcodecs.readthedocs.io/en/stable/filter/fixedscaleoffset.html
//                https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/numcodecs.fixedscaleoffset
// Names          v3 "numcodecs.fixedscaleoffset"; v2 "fixedscaleoffset"
// Example        {"name": "numcodecs.fixedscaleoffset",
//                 "configuration": {"offset": 1000, "scale": 10, "dtype": "<f8", "astype": "<i2"}}
// Limits         integers and floats of NumPy.  "astype" may be left out: as "dtype"; "dtype" may be left out: the
//                array's type.  It may differ from that when the bytes can be seen so.
// Arithmetic     that of NumPy 2, in the type that the array and the Python numbers of the configuration have together:
//                "offset": 5 and "offset": 5.0 differ for integer arrays.  around is half to even.  Decoding is
//                x / scale + offset and then a cast that cuts off, it does not round.
// Deviations     bool and complex are refused.  Floats that do not fit into the integer type give what NumPy 2 gives on
//                x86-64 (astype/number.hpp).  scale 0 is refused.  Where NumPy 2 raises because an integer of the
//                configuration does not fit into the array's type, writing is refused and reading works, as in NumPy.
//                Types of the other byte order are refused in v3, as in astype.
#include <fmt/format.h>

#include <cmath>

#include "codec/elementwise.hpp"
#include "codec/fixedscaleoffset/fixedscaleoffset.hpp"
#include "codec/fixedscaleoffset/kernel.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

class FixedScaleOffsetCodec final : public ArrayToArray {
 public:
  FixedScaleOffsetCodec(Json configuration, FilterType dtype, FilterType astype, const ScaleOffset& arithmetic,
                        ChunkSpec encoded)
      : configuration_(std::move(configuration)),
        dtype_(std::move(dtype)),
        astype_(std::move(astype)),
        arithmetic_(arithmetic),
        encoded_(std::move(encoded)) {}

  [[nodiscard]] CodecSpec spec() const override { return {"numcodecs.fixedscaleoffset", dump_json(configuration_)}; }
  [[nodiscard]] std::unique_ptr<DeviceDecoder> device_decoder() const override {
    return with_type(arithmetic_.decode_type(), [&](auto tag) -> std::unique_ptr<DeviceDecoder> {
      using T = typename decltype(tag)::type;
      if constexpr (std::is_same_v<T, Half> || std::is_floating_point_v<T>) {
        const auto operand = [](const PythonNumber& n) { return static_cast<Wide<T>>(static_cast<T>(n.value)); };
        const ScaleOffsetFilter<Wide<T>> filter{device_scalar(arithmetic_.encoded), device_scalar(arithmetic_.decoded),
                                                operand(arithmetic_.scale), operand(arithmetic_.offset)};
        return std::make_unique<elementwise::Decoder<ScaleOffsetFilter<Wide<T>>>>("fixedscaleoffset", filter);
      } else {
        return nullptr;  // not computed in
      }
    });
  }
  [[nodiscard]] const ChunkSpec& encoded() const override { return encoded_; }
  [[nodiscard]] Status encode(ByteView in, ByteSpan out) const override {
    PENSTOCK_TRY(operand_fits("offset", arithmetic_.offset, arithmetic_.difference_type()));
    PENSTOCK_TRY(operand_fits("scale", arithmetic_.scale, arithmetic_.product_type()));
    const std::size_t count = in.size() / dtype_.dtype.size_bytes;
    PENSTOCK_TRY(expect_size(out.size(), std::uint64_t{count} * astype_.dtype.size_bytes));
    arithmetic_.encode(in.data(), out.data(), count);
    return {};
  }
  [[nodiscard]] Status decode(ByteView in, ByteSpan out) const override {
    const std::size_t count = out.size() / dtype_.dtype.size_bytes;
    PENSTOCK_TRY(expect_size(in.size(), std::uint64_t{count} * astype_.dtype.size_bytes));
    arithmetic_.decode(in.data(), out.data(), count);
    return {};
  }

 private:
  [[nodiscard]] Status operand_fits(std::string_view key, const PythonNumber& number, Number type) const {
    if (is_float(type) || number.fits(type)) return {};
    return Error(ErrorCode::unsupported,
                 fmt::format("\"{}\" does not fit into elements of type {}, so that nothing can be written", key,
                             dtype_.text))
        .set_hint(fmt::format("write \"{}\" with a decimal point to compute in float64", key));
  }

  Json configuration_;
  FilterType dtype_;
  FilterType astype_;
  ScaleOffset arithmetic_;
  ChunkSpec encoded_;
};

Result<PythonNumber> number_member(const Json& configuration, std::string_view key) {
  PENSTOCK_ASSIGN(const Json* value, member(configuration, key));
  if (!value->is_number() || !std::isfinite(value->get<double>()))
    return Error(ErrorCode::invalid_metadata,
                 fmt::format("\"{}\" must be a finite number, is {}", key, dump_json(*value).substr(0, 40)));
  PythonNumber out;
  out.is_int = value->is_number_integer();
  out.value = value->get<double>();
  // Numbers from 2^63 on keep their bits: they are used as uint64 only.
  if (value->is_number_unsigned())
    out.integer = static_cast<std::int64_t>(value->get<std::uint64_t>());
  else if (out.is_int)
    out.integer = value->get<std::int64_t>();
  return out;
}

Result<AnyCodec> make(const Json& configuration, const ChunkSpec& chunk) {
  PENSTOCK_TRY(only_members(configuration, {"offset", "scale", "dtype", "astype"}));
  PENSTOCK_ASSIGN(FilterType dtype, filter_type(configuration, "dtype", chunk.dtype));
  PENSTOCK_ASSIGN(FilterType astype, filter_type(configuration, "astype", dtype.dtype));
  PENSTOCK_TRY(need_native_order(dtype, "dtype"));
  PENSTOCK_TRY(need_native_order(astype, "astype"));
  for (const FilterType* type : {&dtype, &astype})
    if (type->scalars.number == Number::b1 || type->scalars.count != 1)
      return Error(ErrorCode::unsupported, fmt::format("fixedscaleoffset on '{}'", type->text))
          .set_hint("integers and floats can be scaled");
  ScaleOffset arithmetic{dtype.scalars.number, astype.scalars.number, {}, {}};
  PENSTOCK_ASSIGN(arithmetic.offset, number_member(configuration, "offset"));
  PENSTOCK_ASSIGN(arithmetic.scale, number_member(configuration, "scale"));
  if (arithmetic.scale.value == 0) return Error(ErrorCode::invalid_metadata, "\"scale\" must not be 0");
  PENSTOCK_ASSIGN(const ChunkSpec seen, view_as(chunk, dtype.dtype));
  PENSTOCK_ASSIGN(ChunkSpec encoded, with_dtype(seen, astype.dtype));
  Json written = {{"offset", configuration["offset"]},
                  {"scale", configuration["scale"]},
                  {"dtype", dtype.text},
                  {"astype", astype.text}};
  return AnyCodec(std::make_unique<FixedScaleOffsetCodec>(std::move(written), std::move(dtype), std::move(astype),
                                                          arithmetic, std::move(encoded)));
}

/// "astype" is always written in v2.
Result<CodecSpec> from_v2(const Json& v2, const DType& dtype) {
  PENSTOCK_TRY(only_members(v2, {"id", "offset", "scale", "dtype", "astype"}));
  PENSTOCK_ASSIGN(const Json* offset, member(v2, "offset"));
  PENSTOCK_ASSIGN(const Json* scale, member(v2, "scale"));
  PENSTOCK_ASSIGN(const FilterType type, filter_type(v2, "dtype", dtype));
  PENSTOCK_ASSIGN(const FilterType astype, filter_type(v2, "astype", type.dtype));
  return CodecSpec{
      "numcodecs.fixedscaleoffset",
      dump_json(Json{{"offset", *offset}, {"scale", *scale}, {"dtype", type.text}, {"astype", astype.text}})};
}

}  // namespace

const CodecEntry kFixedScaleOffsetCodec = {
    "numcodecs.fixedscaleoffset", {}, "fixedscaleoffset", make, from_v2, nullptr};

}  // namespace penstock
