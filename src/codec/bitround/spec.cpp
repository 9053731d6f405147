// bitround: floats rounded to a number of mantissa bits, so that they compress better.  Reading changes nothing.
//
// Specification  https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/bitround
//                https://numcodecs.readthedocs.io/en/stable/filter/bitround.html
// Names          v3 "bitround", "numcodecs.bitround"; v2 "bitround"
// Example        {"name": "bitround", "configuration": {"keepbits": 10}}
// Limits         writing: float16 (0 to 10 bits), bfloat16 (7), float32 (23), float64 (52), complex (each part).
//                Reading: also integers and times, which others may have rounded.  More bits than the type has: nothing
//                is rounded away.
// Deviations     a NaN stays a NaN: numcodecs adds to its bits and can make zero or infinity of it.  Integers are not
//                written: the specification leaves open how they are rounded.
#include "codec/bitround/bitround.hpp"

#include <fmt/format.h>

#include <cstring>

#include "codec/astype/filter.hpp"
#include "codec/elementwise.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

/// Bits of the type that rounding can take away; 0: it rounds no such type.
std::uint32_t rounded_bits(const DType& type) {
  switch (type.kind) {
    case Kind::floating:
    case Kind::bfloat:
    case Kind::complex: return mantissa_bits(type);
    case Kind::signed_int:
    case Kind::unsigned_int:
    case Kind::datetime:
    case Kind::timedelta: return type.size_bytes * 8;
    default: return 0;
  }
}

class BitroundCodec final : public ArrayToArray {
 public:
  BitroundCodec(std::uint32_t keepbits, ChunkSpec chunk) : keepbits_(keepbits), chunk_(std::move(chunk)) {}

  [[nodiscard]] CodecSpec spec() const override { return {"bitround", fmt::format("{{\"keepbits\":{}}}", keepbits_)}; }
  [[nodiscard]] std::unique_ptr<DeviceDecoder> device_decoder() const override {
    return std::make_unique<elementwise::Identity>();
  }
  [[nodiscard]] const ChunkSpec& encoded() const override { return chunk_; }
  [[nodiscard]] Status encode(ByteView in, ByteSpan out) const override {
    const DType& type = chunk_.dtype;
    if (keepbits_ >= rounded_bits(type)) return decode(in, out);
    if (type.kind != Kind::floating && type.kind != Kind::bfloat && type.kind != Kind::complex)
      return Error(ErrorCode::unsupported, "bitround writes floats only, not " + type.name());
    PENSTOCK_TRY(expect_size(in.size(), out.size()));
    const std::uint32_t size = type.swap_unit();
    bitround(size, mantissa_bits(type), keepbits_, in.data(), out.data(), in.size() / size);
    return {};
  }
  [[nodiscard]] Status decode(ByteView in, ByteSpan out) const override {
    PENSTOCK_TRY(expect_size(in.size(), out.size()));
    if (!in.empty()) std::memcpy(out.data(), in.data(), in.size());
    return {};
  }

 private:
  std::uint32_t keepbits_;
  ChunkSpec chunk_;
};

Result<AnyCodec> make(const Json& configuration, const ChunkSpec& chunk) {
  PENSTOCK_TRY(only_members(configuration, {"keepbits"}));
  if (rounded_bits(chunk.dtype) == 0)
    return Error(ErrorCode::unsupported, "bitround takes numbers, not " + chunk.dtype.name());
  PENSTOCK_ASSIGN(const std::int64_t keepbits, int_member(configuration, "keepbits", 0, INT32_MAX));
  return AnyCodec(std::make_unique<BitroundCodec>(static_cast<std::uint32_t>(keepbits), chunk));
}

constexpr std::string_view kAliases[] = {"numcodecs.bitround"};

}  // namespace

const CodecEntry kBitroundCodec = {"bitround", kAliases, "bitround", make, nullptr, nullptr};

}  // namespace penstock
