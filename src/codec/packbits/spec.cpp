// packbits: elements of few bits, packed without gaps.  Two codecs with one kernel:
//
// "packbits", array->bytes
// Specification  https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/packbits
// Names          v3 "packbits"; v2: none
// Example        {"name": "packbits",
//                 "configuration": {"padding_encoding": "first_byte", "first_bit": 0, "last_bit": 11}}
// Limits         bool (1 bit), integers, floats, complex, times.  Types of less than a byte (int4, ...) are no types of
//                penstock.
// Bit order      the first element's lowest bit is the lowest bit of the first byte.  The specification does not say
//                it; it follows from its demand that whole integers give the bytes of the "bytes" codec, and zarrs does
//                so.  (It calls first_byte compatible with numcodecs: that holds for the padding byte only.)
// Deviations     zarrs leaves the padding byte away when all bits of a type are kept, and extends signs to whole bytes
//                only; here both are as specified.
//
// "numcodecs.packbits", array->array: bool -> uint8 of one dimension
// Specification  https://numcodecs.readthedocs.io/en/stable/filter/packbits.html
//                https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/numcodecs.packbits
// Names          v3 "numcodecs.packbits"; v2 "packbits"
// Example        {"name": "numcodecs.packbits", "configuration": {}}
// Limits         bool, or elements of one byte, which are true unless 0.  The first byte is the number of bits that
//                fill up the last byte; the first element is the highest bit of the next byte.
// Deviations     a first byte that does not fit the shape is corrupt_data; numcodecs believes it.
#include <fmt/format.h>

#include "codec/astype/filter.hpp"
#include "codec/elementwise.hpp"
#include "codec/packbits/packbits.hpp"
#include "codec/support.hpp"
#include "core/checked.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

/// corrupt_data unless the byte says how many bits were added.
Status check_padding(std::byte found, std::uint64_t expected, std::uint64_t at) {
  if (static_cast<std::uint64_t>(found) == expected) return {};
  return Error(ErrorCode::corrupt_data,
               fmt::format("{} padding bits expected, byte {} says {}", expected, at, static_cast<unsigned>(found)));
}

template <class Filter>
std::unique_ptr<DeviceDecoder> unpack_on_device(const Filter& filter) {
  return std::make_unique<elementwise::Decoder<Filter>>("packbits", filter);
}

class NumcodecsPackbitsCodec final : public ArrayToArray {
 public:
  NumcodecsPackbitsCodec(std::uint64_t count, ChunkSpec encoded) : count_(count), encoded_(std::move(encoded)) {}

  [[nodiscard]] CodecSpec spec() const override { return {"numcodecs.packbits", "{}"}; }
  [[nodiscard]] std::unique_ptr<DeviceDecoder> device_decoder() const override {
    return unpack_on_device(UnpackBools{{1, Padding::first_byte}, BitOrder::max_first});
  }
  [[nodiscard]] const ChunkSpec& encoded() const override { return encoded_; }
  [[nodiscard]] Status encode(ByteView in, ByteSpan out) const override {
    PENSTOCK_TRY(expect_size(in.size(), count_));
    PENSTOCK_TRY(expect_size(out.size(), encoded_.shape[0]));
    out[0] = static_cast<std::byte>(padding());
    pack_bools(in.data(), out.data() + 1, count_, BitOrder::max_first);
    return {};
  }
  [[nodiscard]] Status decode(ByteView in, ByteSpan out) const override {
    PENSTOCK_TRY(expect_size(in.size(), encoded_.shape[0]));
    PENSTOCK_TRY(expect_size(out.size(), count_));
    PENSTOCK_TRY(check_padding(in[0], padding(), 0));
    unpack_bools(in.data() + 1, out.data(), count_, BitOrder::max_first);
    return {};
  }

 private:
  [[nodiscard]] std::uint64_t padding() const { return (8 - count_ % 8) % 8; }
  std::uint64_t count_;
  ChunkSpec encoded_;
};

Result<AnyCodec> make_numcodecs(const Json& configuration, const ChunkSpec& chunk) {
  PENSTOCK_TRY(only_members(configuration, {}));
  if (chunk.dtype.size_bytes != 1 || chunk.dtype.kind == Kind::structure)
    return Error(ErrorCode::unsupported, "numcodecs.packbits packs bool, not " + chunk.dtype.name());
  PENSTOCK_ASSIGN(const std::uint64_t count, element_count(chunk.shape));
  ChunkSpec encoded{{div_up(count, 8) + 1}, DType::uint8(), {}};
  return AnyCodec(std::make_unique<NumcodecsPackbitsCodec>(count, std::move(encoded)));
}

constexpr std::string_view kPaddingNames[] = {"none", "first_byte", "last_byte"};

class PackbitsCodec final : public ArrayToBytes {
 public:
  PackbitsCodec(const BitField& field, bool is_bool, Padding padding, std::uint64_t words, std::uint64_t packed)
      : field_(field), is_bool_(is_bool), padding_(padding), words_(words), packed_(packed) {}

  [[nodiscard]] CodecSpec spec() const override {
    return {"packbits", dump_json(Json{{"padding_encoding", kPaddingNames[static_cast<std::size_t>(padding_)]},
                                       {"first_bit", field_.first_bit},
                                       {"last_bit", field_.first_bit + field_.bits - 1}})};
  }
  [[nodiscard]] std::unique_ptr<DeviceDecoder> device_decoder() const override {
    const PackedBits packed{field_.bits, padding_};
    if (is_bool_) return unpack_on_device(UnpackBools{packed, BitOrder::min_first});
    return unpack_on_device(UnpackFields{packed, field_});
  }
  [[nodiscard]] std::optional<std::uint64_t> encoded_size() const override {
    return packed_ + (padding_ == Padding::none ? 0 : 1);
  }
  [[nodiscard]] Status encode(ByteView in, Bytes& out) const override {
    PENSTOCK_TRY(expect_size(in.size(), words_ * field_.size_bytes));
    PENSTOCK_TRY(out.resize_discard(*encoded_size()));
    if (padding_ != Padding::none) out.data()[padding_at()] = static_cast<std::byte>(padding_bits());
    std::byte* const to = out.data() + data_at();
    if (is_bool_)
      pack_bools(in.data(), to, words_, BitOrder::min_first);
    else
      pack_fields(field_, in.data(), to, words_);
    return {};
  }
  [[nodiscard]] Status decode(ByteView in, ByteSpan out, const DecodeContext& context) const override {
    (void)context;
    PENSTOCK_TRY(expect_size(in.size(), *encoded_size()));
    PENSTOCK_TRY(expect_size(out.size(), words_ * field_.size_bytes));
    if (padding_ != Padding::none) PENSTOCK_TRY(check_padding(in[padding_at()], padding_bits(), padding_at()));
    const std::byte* const from = in.data() + data_at();
    if (is_bool_)
      unpack_bools(from, out.data(), words_, BitOrder::min_first);
    else
      unpack_fields(field_, from, out.data(), words_);
    return {};
  }

 private:
  [[nodiscard]] std::uint64_t padding_bits() const { return packed_ * 8 - words_ * field_.bits; }
  [[nodiscard]] std::uint64_t padding_at() const { return padding_ == Padding::first_byte ? 0 : packed_; }
  [[nodiscard]] std::uint64_t data_at() const { return padding_ == Padding::first_byte ? 1 : 0; }

  BitField field_;
  bool is_bool_;
  Padding padding_;
  std::uint64_t words_;   // components of all elements
  std::uint64_t packed_;  // bytes without the padding byte
};

Result<Padding> padding_member(const Json& configuration) {
  const auto it = configuration.find("padding_encoding");
  if (it == configuration.end() || it->is_null()) return Padding::none;
  for (std::size_t i = 0; i < std::size(kPaddingNames); ++i)
    if (*it == kPaddingNames[i]) return static_cast<Padding>(i);
  return Error(ErrorCode::invalid_metadata,
               fmt::format("\"padding_encoding\" must be \"none\", \"first_byte\" or \"last_byte\", is {}",
                           dump_json(*it).substr(0, 40)));
}

/// Bits of one component of the type, or an error for types that the specification does not name.
Result<std::uint32_t> component_bits(const DType& dtype) {
  switch (dtype.kind) {
    case Kind::boolean: return 1U;
    case Kind::floating:
    case Kind::datetime:
    case Kind::timedelta:
    case Kind::signed_int:
    case Kind::unsigned_int:
    case Kind::bfloat:
    case Kind::complex: return dtype.swap_unit() * 8;
    default: break;
  }
  return Error(ErrorCode::unsupported,
               "packbits packs bool, integers, floats, complex numbers and times, not " + dtype.name());
}

Result<AnyCodec> make(const Json& configuration, const ChunkSpec& chunk) {
  PENSTOCK_TRY(only_members(configuration, {"padding_encoding", "first_bit", "last_bit"}));
  PENSTOCK_ASSIGN(const std::uint32_t width, component_bits(chunk.dtype));
  PENSTOCK_ASSIGN(const Padding padding, padding_member(configuration));
  PENSTOCK_ASSIGN(const std::int64_t first, int_or(configuration, "first_bit", 0, 0, width - 1));
  PENSTOCK_ASSIGN(const std::int64_t last, int_or(configuration, "last_bit", width - 1, first, width - 1));
  BitField field;
  field.size_bytes = chunk.dtype.swap_unit();
  field.first_bit = static_cast<std::uint32_t>(first);
  field.bits = static_cast<std::uint32_t>(last - first + 1);
  field.sign_extend =
      chunk.dtype.kind == Kind::signed_int || chunk.dtype.kind == Kind::datetime || chunk.dtype.kind == Kind::timedelta;
  PENSTOCK_ASSIGN(const std::uint64_t bytes, chunk.size_bytes());
  const std::uint64_t words = bytes / field.size_bytes;
  PENSTOCK_ASSIGN(const std::uint64_t bits, checked_mul(words, field.bits));
  return AnyCodec(
      std::make_unique<PackbitsCodec>(field, chunk.dtype.kind == Kind::boolean, padding, words, div_up(bits, 8)));
}

}  // namespace

const CodecEntry kPackbitsCodec = {"packbits", {}, "", make, nullptr, nullptr};
const CodecEntry kNumcodecsPackbitsCodec = {"numcodecs.packbits", {}, "packbits", make_numcodecs, nullptr, nullptr};

}  // namespace penstock
