// numcodecs.astype: elements stored as another number type.
//
// Specification  https://numcodecs.readthedocs.io/en/stable/filter/astype.html
//                https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/numcodecs.astype
// Names          v3 "numcodecs.astype"; v2 "astype"
// Example        {"name": "numcodecs.astype", "configuration": {"encode_dtype": "<i2", "decode_dtype": "<f8"}}
// Limits         bool, integers and floats of NumPy; complex to complex.  "decode_dtype" may be left out: the array's
//                type.  It may differ from the array's type when the bytes can be seen so (an int64 filter on times).
// Deviations     complex to real (NumPy drops the imaginary part with a warning) is refused.  Floats that do not fit
//                into the integer type give what NumPy 2 gives on x86-64 (number.hpp); NumPy leaves it to the machine.
//                Types of the other byte order are refused in v3: zarr-python does not read back what it stores so, or
//                only some versions do; but for an "encode_dtype" in the order of the codec "bytes" behind it.
#include "codec/astype/astype.hpp"

#include <fmt/format.h>

#include "codec/astype/filter.hpp"
#include "codec/astype/kernel.hpp"
#include "codec/elementwise.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

class AstypeCodec final : public ArrayToArray {
 public:
  AstypeCodec(FilterType encode, FilterType decode, ChunkSpec encoded)
      : encode_(std::move(encode)), decode_(std::move(decode)), encoded_(std::move(encoded)) {}

  [[nodiscard]] CodecSpec spec() const override {
    return {"numcodecs.astype", dump_json(Json{{"encode_dtype", encode_.text}, {"decode_dtype", decode_.text}})};
  }
  [[nodiscard]] std::unique_ptr<DeviceDecoder> device_decoder() const override {
    const ConvertFilter filter{device_scalar(encode_.scalars.number), device_scalar(decode_.scalars.number)};
    return std::make_unique<elementwise::Decoder<ConvertFilter>>("astype", filter);
  }
  [[nodiscard]] const ChunkSpec& encoded() const override { return encoded_; }
  [[nodiscard]] Status encode(ByteView in, ByteSpan out) const override { return cast(decode_, encode_, in, out); }
  [[nodiscard]] Status decode(ByteView in, ByteSpan out) const override { return cast(encode_, decode_, in, out); }

 private:
  static Status cast(const FilterType& from, const FilterType& to, ByteView in, ByteSpan out) {
    const std::size_t count = out.size() / to.dtype.size_bytes;
    PENSTOCK_TRY(expect_size(in.size(), std::uint64_t{count} * from.dtype.size_bytes));
    cast_function(from.scalars.number, to.scalars.number)(in.data(), out.data(), count * to.scalars.count);
    return {};
  }

  FilterType encode_;
  FilterType decode_;
  ChunkSpec encoded_;
};

Result<AnyCodec> make(const Json& configuration, const ChunkSpec& chunk) {
  PENSTOCK_TRY(only_members(configuration, {"encode_dtype", "decode_dtype"}));
  PENSTOCK_TRY(member(configuration, "encode_dtype"));
  PENSTOCK_ASSIGN(FilterType encode, filter_type(configuration, "encode_dtype", chunk.dtype));
  PENSTOCK_ASSIGN(FilterType decode, filter_type(configuration, "decode_dtype", chunk.dtype));
  PENSTOCK_TRY(need_native_order(encode, "encode_dtype"));
  PENSTOCK_TRY(need_native_order(decode, "decode_dtype"));
  if (encode.scalars.count != decode.scalars.count)
    return Error(ErrorCode::unsupported,
                 fmt::format("conversion between real and complex numbers ({} and {})", decode.text, encode.text));
  PENSTOCK_ASSIGN(const ChunkSpec seen, view_as(chunk, decode.dtype));
  PENSTOCK_ASSIGN(ChunkSpec encoded, with_dtype(seen, encode.dtype));
  return AnyCodec(std::make_unique<AstypeCodec>(std::move(encode), std::move(decode), std::move(encoded)));
}

}  // namespace

const CodecEntry kAstypeCodec = {"numcodecs.astype", {}, "astype", make, nullptr, nullptr};

}  // namespace penstock
