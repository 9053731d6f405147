// zfp: blocks of 4^rank numbers, compressed with a chosen loss or without.  Two codecs with one library:
//
// "zfp", array->bytes
// Specification  https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/zfp
// Names          v3 "zfp"; v2: none
// Example        {"name": "zfp", "configuration": {"mode": "fixed_accuracy", "tolerance": 0.05}}
// Limits         int32, int64, float32, float64; up to 4 dimensions
// Deviations     uint32, uint64 and smaller types are refused: the specification's mapping of full-width unsigned
//                integers is not defined (it shifts by -1)
//
// "numcodecs.zfpy", array->bytes, with a header in each chunk
// Specification  https://numcodecs.readthedocs.io/en/stable/compression/zfpy.html
//                https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/numcodecs.zfpy
// Names          v3 "numcodecs.zfpy"; v2 "zfpy"
// Example        {"name": "numcodecs.zfpy", "configuration": {"mode": 4, "tolerance": 0.01}}
// Limits         as above.  "mode" 2 fixed rate, 3 precision, 4 accuracy; -1 for the value of the mode means
// reversible,
//                as in zfpy; 5 means reversible, too.  Reading takes the mode from the chunk's header.
// Words          chunks are filled up to 8 bytes as the Python wheels do; others may be filled up to less
// Deviations     a header of another shape or data type is corrupt_data; bytes past the end of a chunk are never read
#include <fmt/format.h>

#include <cmath>

#include "codec/astype/filter.hpp"
#include "codec/support.hpp"
#include "codec/zfp/zfp.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

using Mode = ZfpParameters::Mode;

class ZfpCodec final : public ArrayToBytes {
 public:
  ZfpCodec(CodecSpec spec, const ZfpField& field, const ZfpParameters& parameters, ZfpHeader header, std::uint64_t size)
      : spec_(std::move(spec)), field_(field), parameters_(parameters), header_(header), size_(size) {}

  [[nodiscard]] CodecSpec spec() const override { return spec_; }
  [[nodiscard]] std::optional<std::uint64_t> encoded_size() const override { return std::nullopt; }
  [[nodiscard]] std::optional<std::uint64_t> max_encoded_size() const override {
    if (header_ == ZfpHeader::full) return std::nullopt;  // a chunk's own header may name another mode
    return zfp_bound(field_, parameters_);
  }
  [[nodiscard]] Status encode(ByteView in, Bytes& out) const override {
    PENSTOCK_TRY(expect_size(in.size(), size_));
    return zfp_encode(field_, parameters_, header_, in, out);
  }
  [[nodiscard]] Status decode(ByteView in, ByteSpan out, const DecodeContext& context) const override {
    (void)context;
    PENSTOCK_TRY(expect_size(out.size(), size_));
    return zfp_decode(field_, parameters_, header_, in, out);
  }

 private:
  CodecSpec spec_;
  ZfpField field_;
  ZfpParameters parameters_;
  ZfpHeader header_;
  std::uint64_t size_;
};

Result<ZfpField> field_of(const ChunkSpec& chunk) {
  const DType& type = chunk.dtype;
  if ((type.kind != Kind::floating && type.kind != Kind::signed_int) || type.size_bytes < 4)
    return Error(ErrorCode::unsupported, "zfp compresses int32, int64, float32 and float64, not " + type.name());
  if (chunk.shape.size() > 4)
    return Error(ErrorCode::unsupported, fmt::format("zfp has 1 to 4 dimensions, the chunk {}", chunk.shape.size()));
  ZfpField field{type.kind, type.size_bytes, 1, {1, 0, 0, 0}};
  field.rank = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(chunk.shape.size()));
  for (std::size_t d = 0; d < chunk.shape.size(); ++d) {
    field.extents[d] = chunk.shape[chunk.shape.size() - 1 - d];
    if (field.extents[d] == 0) return bad_configuration("zfp takes no chunks without elements");
  }
  return field;
}

/// A finite number above 0.
Result<double> positive_member(const Json& configuration, std::string_view key, double most) {
  PENSTOCK_ASSIGN(const Json* value, member(configuration, key));
  if (value->is_number() && value->get<double>() > 0 && value->get<double>() <= most) return value->get<double>();
  return bad_configuration(
      fmt::format("\"{}\" must be a number above 0 up to {}, is {}", key, most, dump_json(*value).substr(0, 40)));
}

constexpr double kMaxRate = 128;          // bits of an element
constexpr std::int64_t kMaxBits = 16658;  // of a block, ZFP_MAX_BITS
constexpr std::int64_t kMaxPrecision = 64;
constexpr std::int64_t kMinExponent = -1075;  // that of reversible
constexpr std::int64_t kMaxExponent = 1024;

Result<std::uint32_t> count_member(const Json& configuration, std::string_view key, std::int64_t low,
                                   std::int64_t high) {
  PENSTOCK_ASSIGN(const std::int64_t value, int_member(configuration, key, low, high));
  return static_cast<std::uint32_t>(value);
}

Result<ZfpParameters> parse_zfp(const Json& configuration) {
  PENSTOCK_ASSIGN(const std::string mode, string_member(configuration, "mode"));
  ZfpParameters out;
  if (mode == "reversible") {
    PENSTOCK_TRY(only_members(configuration, {"mode"}));
  } else if (mode == "fixed_accuracy") {
    PENSTOCK_TRY(only_members(configuration, {"mode", "tolerance"}));
    out.mode = Mode::fixed_accuracy;
    PENSTOCK_ASSIGN(out.tolerance, positive_member(configuration, "tolerance", 0x1p1023));
  } else if (mode == "fixed_rate") {
    PENSTOCK_TRY(only_members(configuration, {"mode", "rate"}));
    out.mode = Mode::fixed_rate;
    PENSTOCK_ASSIGN(out.rate, positive_member(configuration, "rate", kMaxRate));
  } else if (mode == "fixed_precision") {
    PENSTOCK_TRY(only_members(configuration, {"mode", "precision"}));
    out.mode = Mode::fixed_precision;
    PENSTOCK_ASSIGN(out.precision, count_member(configuration, "precision", 1, kMaxPrecision));
  } else if (mode == "expert") {
    PENSTOCK_TRY(only_members(configuration, {"mode", "minbits", "maxbits", "maxprec", "minexp"}));
    out.mode = Mode::expert;
    PENSTOCK_ASSIGN(out.max_bits, count_member(configuration, "maxbits", 1, kMaxBits));
    PENSTOCK_ASSIGN(out.min_bits, count_member(configuration, "minbits", 0, out.max_bits));
    PENSTOCK_ASSIGN(out.max_precision, count_member(configuration, "maxprec", 1, kMaxPrecision));
    PENSTOCK_ASSIGN(const std::int64_t exponent, int_member(configuration, "minexp", kMinExponent, kMaxExponent));
    out.min_exponent = static_cast<std::int32_t>(exponent);
  } else {
    return bad_configuration(
        "\"mode\" must be \"reversible\", \"expert\", \"fixed_accuracy\", \"fixed_rate\" or "
        "\"fixed_precision\", is \"" +
        mode.substr(0, 40) + "\"");
  }
  return out;
}

/// Whether zfpy takes the member as given: it is there and not -1.
bool given(const Json& configuration, const char* key) {
  const auto it = configuration.find(key);
  return it != configuration.end() && !it->is_null() && *it != -1;
}

Result<ZfpParameters> parse_zfpy(const Json& configuration) {
  PENSTOCK_TRY(only_members(configuration, {"mode", "tolerance", "rate", "precision", "compression_kwargs"}));
  PENSTOCK_ASSIGN(const std::int64_t mode, int_or(configuration, "mode", 4, 2, 5));
  ZfpParameters out;
  if (mode == 2 && given(configuration, "rate")) {
    out.mode = Mode::fixed_rate;
    PENSTOCK_ASSIGN(out.rate, positive_member(configuration, "rate", kMaxRate));
  } else if (mode == 3 && given(configuration, "precision")) {
    out.mode = Mode::fixed_precision;
    PENSTOCK_ASSIGN(out.precision, count_member(configuration, "precision", 1, kMaxPrecision));
  } else if (mode == 4 && given(configuration, "tolerance")) {
    out.mode = Mode::fixed_accuracy;
    PENSTOCK_ASSIGN(out.tolerance, positive_member(configuration, "tolerance", 0x1p1023));
  }
  return out;
}

Result<AnyCodec> make_codec(const char* name, const Json& configuration, const ChunkSpec& chunk,
                            const ZfpParameters& parameters, ZfpHeader header) {
  PENSTOCK_ASSIGN(const ZfpField field, field_of(chunk));
  PENSTOCK_ASSIGN(const std::uint64_t size, chunk.size_bytes());
  return AnyCodec(
      std::make_unique<ZfpCodec>(CodecSpec{name, dump_json(configuration)}, field, parameters, header, size));
}

Result<AnyCodec> make_zfp(const Json& configuration, const ChunkSpec& chunk) {
  PENSTOCK_ASSIGN(const ZfpParameters parameters, parse_zfp(configuration));
  return make_codec("zfp", configuration, chunk, parameters, ZfpHeader::none);
}

Result<AnyCodec> make_zfpy(const Json& configuration, const ChunkSpec& chunk) {
  PENSTOCK_ASSIGN(const ZfpParameters parameters, parse_zfpy(configuration));
  return make_codec("numcodecs.zfpy", configuration, chunk, parameters, ZfpHeader::full);
}

}  // namespace

const CodecEntry kZfpCodec = {"zfp", {}, "", make_zfp, nullptr, nullptr};
const CodecEntry kZfpyCodec = {"numcodecs.zfpy", {}, "zfpy", make_zfpy, nullptr, nullptr};

}  // namespace penstock
