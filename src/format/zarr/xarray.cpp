#include "format/zarr/xarray.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>

#include "core/json.hpp"
#include "format/zarr/base64.hpp"
#include "format/zarr/fill.hpp"
#include "format/zarr/float_bits.hpp"

namespace penstock {
namespace {

constexpr const char* kDimensions = "_ARRAY_DIMENSIONS";
constexpr const char* kFillValue = "_FillValue";

/// One real number as xarray writes it in v3: base64 of a little-endian double.
Json encode_double(double value) {
  static_assert(std::endian::native == std::endian::little);
  return to_base64(std::as_bytes(std::span(&value, 1)));
}

std::optional<double> decode_double(const Json& value) {
  if (!value.is_string()) return std::nullopt;
  const auto bytes = from_base64(value.get_ref<const std::string&>());
  if (!bytes || bytes->size() != sizeof(double)) return std::nullopt;
  double out = 0;
  std::memcpy(&out, bytes->data(), sizeof out);
  return out;
}

/// As zarr spells it.
Json number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

double to_double(ByteView element, const DType& dtype) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, element.data(), element.size());
  return float_from_bits(bits, float_format(dtype));
}

/// The attribute of v3; nullopt: xarray has none for this type.
Result<std::optional<Json>> to_attribute(const DType& dtype, ByteView fill) {
  switch (dtype.kind) {
    case Kind::boolean:
    case Kind::signed_int:
    case Kind::unsigned_int: {
      PENSTOCK_ASSIGN(Json value, fill_to(dtype, fill, {}));
      return std::optional(std::move(value));
    }
    case Kind::floating: return std::optional(encode_double(to_double(fill, dtype)));
    case Kind::complex: {
      const std::size_t half = fill.size() / 2;
      Json pair = Json::array();
      pair.push_back(encode_double(to_double(fill.first(half), dtype)));
      pair.push_back(encode_double(to_double(fill.subspan(half), dtype)));
      return std::optional(std::move(pair));
    }
    default: return std::optional<Json>();
  }
}

/// The fill value that an attribute of v3 stands for; nullopt: none of this type.
std::optional<std::vector<std::byte>> from_attribute(const DType& dtype, const Json& attribute) {
  Json value = attribute;
  if (dtype.kind == Kind::floating) {
    const auto real = decode_double(attribute);
    if (!real) return std::nullopt;
    value = number(*real);
  } else if (dtype.kind == Kind::complex) {
    if (!attribute.is_array() || attribute.size() != 2) return std::nullopt;
    const auto real = decode_double(attribute[0]);
    const auto imaginary = decode_double(attribute[1]);
    if (!real || !imaginary) return std::nullopt;
    value = Json::array({number(*real), number(*imaginary)});
  } else if (dtype.kind != Kind::boolean && dtype.kind != Kind::signed_int && dtype.kind != Kind::unsigned_int) {
    return std::nullopt;
  }
  auto fill = fill_from(dtype, value, {});
  if (!fill) return std::nullopt;
  return *std::move(fill);
}

bool is_named_in_v2(const Dataset& dataset, const Json& attributes) {
  if (dataset.rank() > 0) return !dataset.dims.empty();
  return attributes.is_object() && attributes.value(kDimensions, Json()) == Json::array();
}

Status to_v3(Dataset& dataset, Json& attributes) {
  if (!is_named_in_v2(dataset, attributes)) return {};
  attributes.erase(kDimensions);
  std::vector<std::byte> missing = dataset.fill;
  if (attributes.contains(kFillValue)) {  // a number there, which v3 spells in another way
    auto stated = fill_from(dataset.dtype, attributes[kFillValue], {2, true, true, "little"});
    if (!stated) return {};
    missing = *std::move(stated);
  }
  if (missing.empty()) return {};
  PENSTOCK_ASSIGN(std::optional<Json> attribute, to_attribute(dataset.dtype, missing));
  if (attribute) attributes[kFillValue] = *std::move(attribute);
  return {};
}

Status to_v2(Dataset& dataset, Json& attributes) {
  const bool named = dataset.rank() == 0 ||
                     (!dataset.dims.empty() &&
                      std::ranges::all_of(dataset.dims, [](const Dimension& dim) { return dim.name.has_value(); }));
  if (!named) return {};
  if (dataset.rank() == 0) attributes[kDimensions] = Json::array();
  if (const auto it = attributes.find(kFillValue); it != attributes.end()) {
    auto fill = from_attribute(dataset.dtype, *it);
    if (!fill) return {};
    PENSTOCK_ASSIGN(*it, fill_to(dataset.dtype, *fill, {2}));
    dataset.fill = *std::move(fill);
    return {};
  }
  // None is missing: any fill value would be taken for a mark of what is.  Values are copied, so none depends on it.
  dataset.fill.clear();
  if (dataset.dtype.is_vlen()) dataset.format.extra = R"({"fill_value":null})";
  return {};
}

}  // namespace

std::optional<std::vector<std::byte>> missing_value(const DType& dtype, const Json& attributes) {
  const auto found = attributes.is_object() ? attributes.find(kFillValue) : attributes.end();
  if (found == attributes.end() || dtype.kind > Kind::complex) return std::nullopt;
  if (auto element = from_attribute(dtype, *found)) return element;
  auto element = fill_from(dtype, *found, {2});
  if (!element) return std::nullopt;
  return *std::move(element);
}

Status tell_missing(Dataset& dataset) {
  if (!dataset.nodata) return {};
  PENSTOCK_ASSIGN_IN(Json attributes, parse_json(dataset.attributes), "attributes");
  PENSTOCK_ASSIGN(std::optional<Json> attribute, to_attribute(dataset.dtype, *dataset.nodata));
  if (attribute) attributes[kFillValue] = *std::move(attribute);
  dataset.attributes = dump_json(attributes);
  return {};
}

Status translate_xarray(Dataset& dataset) {
  PENSTOCK_ASSIGN_IN(Json attributes, parse_json(dataset.attributes.empty() ? "{}" : dataset.attributes), "attributes");
  if (!attributes.is_object()) return {};
  PENSTOCK_TRY(dataset.format.version == 3 ? to_v3(dataset, attributes) : to_v2(dataset, attributes));
  dataset.attributes = dump_json(attributes);
  return {};
}

std::string lost_for_xarray(const Dataset& from, int zarr_format) {
  if (from.format.version != 2 || zarr_format != 3) return "";
  const auto attributes = parse_json(from.attributes.empty() ? "{}" : from.attributes);
  if (!attributes || !is_named_in_v2(from, *attributes)) return "";
  const bool null_text = from.dtype.is_vlen() && from.format.extra.find("\"fill_value\":null") != std::string::npos;
  if (null_text || (from.fill.empty() && !from.dtype.is_vlen())) return "";
  const auto attribute = to_attribute(from.dtype, from.fill);
  if (!attribute || *attribute) return "";
  return fmt::format("xarray took its fill value for \"missing\"; of type {} zarr v3 has no attribute that says so",
                     from.dtype.name());
}

}  // namespace penstock
