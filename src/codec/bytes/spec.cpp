// bytes: elements as they are, one after another, in a stated byte order.
//
// Specification  https://zarr-specs.readthedocs.io/en/latest/v3/codecs/bytes/index.html
// Names          v3 "bytes", alias "endian" (2022 drafts); v2: none, the byte order is part of the data type
// Example        {"name": "bytes", "configuration": {"endian": "little"}}
// Limits         fixed-size elements.  "endian" may be left out where it means nothing (one-byte types).
// Deviations     "endian" may be a list of "little"/"big" (null: it means nothing), one per field, for v2 structures
//                of mixed byte order (a nested structure has a list in the list).  It is for reading v2; do not write
//                it into v3 metadata.
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "codec/bytes/bytes.hpp"
#include "codec/bytes/swap.hpp"
#include "codec/support.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

constexpr bool kNativeLittle = std::endian::native == std::endian::little;

class BytesCodec final : public ArrayToBytes {
 public:
  /// `swapped`: the elements' type with everything that keeps its order turned into raw bytes.
  BytesCodec(std::uint64_t size, DType swapped, bool uniform, std::string configuration)
      : size_(size),
        swapped_(std::move(swapped)),
        swaps_(has_byte_order(swapped_)),
        uniform_(uniform),
        configuration_(std::move(configuration)) {}

  [[nodiscard]] CodecSpec spec() const override { return {"bytes", configuration_}; }
  [[nodiscard]] std::optional<std::uint64_t> encoded_size() const override { return size_; }
  [[nodiscard]] bool is_plain() const override { return uniform_ || !swaps_; }
  [[nodiscard]] bool swaps_bytes() const override { return swaps_; }

  [[nodiscard]] Status encode(ByteView in, Bytes& out) const override {
    PENSTOCK_TRY(out.resize_discard(in.size()));
    copy(in, out.span());
    return {};
  }
  [[nodiscard]] Status decode(ByteView in, ByteSpan out, const DecodeContext& /*context*/) const override {
    if (in.size() != out.size()) return corrupt(fmt::format("{} bytes expected, {} found", out.size(), in.size()));
    copy(in, out);
    return {};
  }

 private:
  void copy(ByteView in, ByteSpan out) const {
    if (swaps_) return swap_units(in, out, swapped_);
    if (!in.empty()) std::memcpy(out.data(), in.data(), in.size());
  }
  std::uint64_t size_;
  DType swapped_;
  bool swaps_;
  bool uniform_;
  std::string configuration_;
};

DType without_order(const DType& dtype) { return {Kind::opaque, dtype.size_bytes, {}, 1, {}}; }

/// Whether the text means an order other than the machine's.
Result<bool> is_foreign(const Json& endian) {
  if (const auto* text = endian.get_ptr<const std::string*>()) {
    if (*text == "little") return !kNativeLittle;
    if (*text == "big") return kNativeLittle;
  }
  return bad_configuration(
      fmt::format("\"endian\" must be \"little\" or \"big\", is {}", dump_json(endian).substr(0, 40)));
}

/// The type with all that is stored in native order made raw, so that swapping it swaps just the rest.
Result<DType> swapped_type(const Json& endian, const DType& dtype) {
  if (endian.is_null() && !has_byte_order(dtype)) return without_order(dtype);
  if (!endian.is_array()) {
    PENSTOCK_ASSIGN(const bool foreign, is_foreign(endian));
    return foreign ? dtype : without_order(dtype);
  }
  if (dtype.kind != Kind::structure || endian.size() != dtype.fields.size())
    return bad_configuration("\"endian\" is a list but not of one item per field");
  DType out = dtype;
  for (std::size_t i = 0; i < endian.size(); ++i) {
    PENSTOCK_ASSIGN_IN(out.fields[i].dtype, swapped_type(endian[i], dtype.fields[i].dtype), dtype.fields[i].name);
  }
  return out;
}

Result<AnyCodec> make(const Json& configuration, const ChunkSpec& chunk) {
  PENSTOCK_TRY(only_members(configuration, {"endian"}));
  if (chunk.dtype.is_vlen())
    return bad_configuration(
        fmt::format("elements of type {} have no fixed size; use vlen-utf8 or vlen-bytes", chunk.dtype.name()));
  PENSTOCK_ASSIGN(const std::uint64_t size, chunk.size_bytes());
  const auto it = configuration.find("endian");
  if (it == configuration.end() || it->is_null()) {
    if (has_byte_order(chunk.dtype))
      return bad_configuration(fmt::format("\"endian\" is needed for the data type {}", chunk.dtype.name()));
    return AnyCodec(std::make_unique<BytesCodec>(size, without_order(chunk.dtype), true, "{}"));
  }
  PENSTOCK_ASSIGN(DType swapped, swapped_type(*it, chunk.dtype));
  return AnyCodec(std::make_unique<BytesCodec>(size, std::move(swapped), !it->is_array(), dump_json(configuration)));
}

constexpr std::string_view kAliases[] = {"endian"};

}  // namespace

const CodecEntry kBytesCodec = {"bytes", kAliases, "", make, nullptr, nullptr};

}  // namespace penstock
