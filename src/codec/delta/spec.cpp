// numcodecs.delta: each element less the one before it, in C order; the first element as it is.
//
// Specification  https://numcodecs.readthedocs.io/en/stable/filter/delta.html
//                https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/numcodecs.delta
// Names          v3 "numcodecs.delta"; v2 "delta"
// Example        {"name": "numcodecs.delta", "configuration": {"dtype": "<i4", "astype": "<i2"}}
// Limits         integers, floats and complex numbers of NumPy.  "astype" may be left out: as "dtype".  "dtype" may be
//                left out: the array's type; it may differ from that when the bytes can be seen so (int64 on times).
// Deviations     bool is refused: numcodecs stores it but cannot restore it.  Integers wrap in "dtype" throughout;
//                NumPy adds signed integers and uint64 in float64 and loses them.  An empty chunk is an empty chunk,
//                where numcodecs raises.
// Byte order     a "dtype" of the other order than the machine's, in v3: zarr-python takes the differences of the
//                swapped integers.  Here they are summed and swapped back, which gives what was written, also where
//                zarr-python loses it (it swaps the differences, carries and all).  Such an array is not written, and
//                other types than integers, or another "astype", are refused, but for
//                one in the order of the codec "bytes" behind it.  v2 has one order for all of a chain.
#include "codec/bytes/swap.hpp"
#include "codec/delta/delta.hpp"
#include "codec/delta/device.hpp"
#include "core/json.hpp"

#include <fmt/format.h>

namespace penstock {
namespace {

class DeltaCodec final : public ArrayToArray {
 public:
  DeltaCodec(FilterType dtype, FilterType astype, ChunkSpec encoded)
      : dtype_(std::move(dtype)), astype_(std::move(astype)), encoded_(std::move(encoded)) {}

  [[nodiscard]] CodecSpec spec() const override {
    return {"numcodecs.delta", dump_json(Json{{"dtype", dtype_.text}, {"astype", astype_.text}})};
  }
  /// Into integers only from integers, no float16 and no swapping: other sums are the CPU's.
  [[nodiscard]] std::unique_ptr<DeviceDecoder> device_decoder() const override {
    if (dtype_.foreign_order) return nullptr;
    const DeltaNumbers numbers = this->numbers();
    const ScalarType from = device_scalar(numbers.encoded), to = device_scalar(numbers.decoded);
    if (from.is_half() || to.is_half() || (from.is_float && !to.is_float)) return nullptr;
    if (!to.is_float) return delta::make_device_decoder(from, to);
    const auto sum_bytes = static_cast<std::uint8_t>(size_of(numbers.sum_type()));
    return delta::make_float_decoder({from, to, static_cast<std::uint32_t>(numbers.parts), sum_bytes});
  }
  [[nodiscard]] const ChunkSpec& encoded() const override { return encoded_; }
  [[nodiscard]] Status encode(ByteView in, ByteSpan out) const override {
    if (dtype_.foreign_order)
      return Error(ErrorCode::unsupported,
                   fmt::format("differences in the other byte order ('{}') are read, not written", dtype_.text))
          .set_hint("zarr-python does not read them all back; a copy of the array has them in little-endian order");
    const std::size_t count = in.size() / dtype_.dtype.size_bytes;
    PENSTOCK_TRY(expect_size(out.size(), std::uint64_t{count} * astype_.dtype.size_bytes));
    numbers().encode(in.data(), out.data(), count * dtype_.scalars.count);
    return {};
  }
  [[nodiscard]] Status decode(ByteView in, ByteSpan out) const override {
    const std::size_t count = out.size() / dtype_.dtype.size_bytes;
    PENSTOCK_TRY(expect_size(in.size(), std::uint64_t{count} * astype_.dtype.size_bytes));
    numbers().decode(in.data(), out.data(), count * dtype_.scalars.count);
    if (dtype_.foreign_order) swap_units(out, dtype_.dtype);
    return {};
  }

 private:
  [[nodiscard]] DeltaNumbers numbers() const {
    return {dtype_.scalars.number, astype_.scalars.number, dtype_.scalars.count};
  }
  FilterType dtype_;
  FilterType astype_;
  ChunkSpec encoded_;
};

/// Of another order than the machine's are both types or none, and only integers can be swapped back.
Status check_order(const FilterType& dtype, const FilterType& astype) {
  const bool same = dtype.foreign_order == astype.foreign_order && dtype.scalars == astype.scalars;
  if (same && !is_float(dtype.scalars.number)) return {};
  PENSTOCK_TRY(need_native_order(dtype, "dtype"));
  return need_native_order(astype, "astype");
}

Result<AnyCodec> make(const Json& configuration, const ChunkSpec& chunk) {
  PENSTOCK_TRY(only_members(configuration, {"dtype", "astype"}));
  PENSTOCK_ASSIGN(FilterType dtype, filter_type(configuration, "dtype", chunk.dtype));
  PENSTOCK_ASSIGN(FilterType astype, filter_type(configuration, "astype", dtype.dtype));
  const bool given = !configuration.value("astype", Json()).is_null();
  if (dtype.foreign_order && !given) astype = dtype;
  for (const FilterType* type : {&dtype, &astype})
    if (type->scalars.number == Number::b1)
      return Error(ErrorCode::unsupported, "delta on bool: numcodecs cannot restore what it stores")
          .set_hint("use packbits for bool");
  PENSTOCK_TRY(check_order(dtype, astype));
  // What is stored then differs between versions of zarr-python.
  if (given) PENSTOCK_TRY(need_native_order(astype, "astype"));
  if (dtype.scalars.count != astype.scalars.count)
    return Error(ErrorCode::unsupported,
                 fmt::format("differences of {} stored as {}: one is complex", dtype.text, astype.text));
  PENSTOCK_ASSIGN(const ChunkSpec seen, view_as(chunk, dtype.dtype));
  PENSTOCK_ASSIGN(ChunkSpec encoded, with_dtype(seen, astype.dtype));
  return AnyCodec(std::make_unique<DeltaCodec>(std::move(dtype), std::move(astype), std::move(encoded)));
}

/// numcodecs always writes both members.
Result<CodecSpec> from_v2(const Json& v2, const DType& dtype) {
  PENSTOCK_TRY(only_members(v2, {"id", "dtype", "astype"}));
  PENSTOCK_ASSIGN(const FilterType type, filter_type(v2, "dtype", dtype));
  PENSTOCK_ASSIGN(const FilterType astype, filter_type(v2, "astype", type.dtype));
  return CodecSpec{"numcodecs.delta", dump_json(Json{{"dtype", type.text}, {"astype", astype.text}})};
}

}  // namespace

const CodecEntry kDeltaCodec = {"numcodecs.delta", {}, "delta", make, from_v2, nullptr};

}  // namespace penstock
